// How weights.cpp and mixer_weights.cpp list the weights of a layer. Internal to these two files.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/architecture/weights.hpp"

namespace roofcast {

/// Collects the weights of one layer; `vectors` is the format of norms, biases and routers.
struct WeightList {
  std::vector<Weight> weights{};
  WeightFormat vectors{};

  void matrix(Weight weight) { weights.push_back(std::move(weight)); }

  /// A vector of `elements`, stored unquantised; nothing when there are none.
  void vector(Weight weight) {
    if (weight.outputs == 0) return;
    weight.inputs = 1;
    weight.multiplies = false;
    weight.format = vectors;
    weights.push_back(std::move(weight));
  }
};

/// Adds the bias of the matrix added last. A bias follows the split of its matrix's outputs; a
/// row-parallel matrix's bias is added once, after the all-reduce, and every rank holds it.
void add_bias_of_last(WeightList& list);

/// Adds the weights of the layer's token mixer.
void add_mixer_weights(const Layer& layer, std::int64_t hidden, WeightList& list);

}  // namespace roofcast
