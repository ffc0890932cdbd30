// Whether a model routes tokens to experts, and to whose.
#pragma once

#include <algorithm>
#include <string_view>
#include <variant>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Whether any layer is a mixture of experts.
inline bool has_experts(const Transformer& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& layer) { return std::holds_alternative<MoeFfn>(layer.ffn); });
}

/// Whether these experts of the model are DeepSeek-V3's, as R1's are, too. Models of its
/// architecture with others (Kimi-K2) were trained separately.
inline bool is_deepseek_v3(const Transformer& model, const MoeFfn& experts) {
  constexpr std::string_view kArchitecture = "DeepseekV3ForCausalLM";
  return model.architecture == kArchitecture && experts.experts == 256 &&
         experts.experts_per_token == 8;
}

}  // namespace roofcast
