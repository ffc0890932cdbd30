// Whether a model routes tokens to experts.
#pragma once

#include <algorithm>
#include <variant>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Whether any layer is a mixture of experts.
inline bool has_experts(const Transformer& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& layer) { return std::holds_alternative<MoeFfn>(layer.ffn); });
}

}  // namespace roofcast
