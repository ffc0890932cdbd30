// Collects the weights of a layer. Internal to weights.cpp and mixer_weights.cpp.
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

  /// Adds a vector, stored unquantised. No effect if it has no elements.
  void vector(Weight weight) {
    if (weight.outputs == 0) return;
    weight.inputs = 1;
    weight.multiplies = false;
    weight.format = vectors;
    weights.push_back(std::move(weight));
  }
};

/// Adds the bias of the matrix added last. A bias is split like its matrix's outputs; the bias of a
/// row-parallel matrix is added once, after the all-reduce, and every rank holds it.
void add_bias_of_last(WeightList& list);

/// Adds the weights of the layer's token mixer.
void add_mixer_weights(const Layer& layer, std::int64_t hidden, WeightList& list);

}  // namespace roofcast
