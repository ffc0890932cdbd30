#include "model/architecture/adapters.hpp"

#include <algorithm>
#include <string>

namespace roofcast {
namespace {

/// Matrices that are stored as one.
std::int64_t merged_parts(const Weight& weight) {
  if (weight.split == Split::kv_output) return weight.outputs > weight.kv_outputs ? 3 : 2;
  return weight.name.find("gate_up") != std::string::npos ? 2 : 1;
}

}  // namespace

AdapterShape adapter_shape(const Transformer& model, const Parallelism& parallel,
                           LayerRange layers) {
  AdapterShape shape;
  for (std::int64_t i = layers.first; i < layers.last; ++i) {
    const Layer& layer = model.layers[static_cast<std::size_t>(i)];
    for (const Weight& whole : layer_weights(layer, model.hidden, model.activation)) {
      if (!whole.multiplies) continue;
      const Weight weight = shard(whole, parallel);
      const auto width = static_cast<double>(merged_parts(whole) * weight.inputs + weight.outputs);
      shape.elements += static_cast<double>(weight.copies) * width;
      shape.elements_used +=
          static_cast<double>(std::min(weight.copies, weight.copies_used)) * width;
      ++shape.matrices;
    }
  }
  return shape;
}

}  // namespace roofcast
