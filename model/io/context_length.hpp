// The longest sequence that a config allows, as serving engines derive it.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/io/config_fields.hpp"

namespace roofcast {

/// The smallest of the context fields present, extended by rope scaling; 0 if the config has none.
/// Follows vLLM (vllm/config/model.py, _get_and_verify_max_len): a yarn factor applies to
/// original_max_position_embeddings, other factors to the field itself. llama3, longrope and su
/// scaling, and all of Gemma-3, state the length after scaling, so it is not extended.
std::int64_t longest_context(const Fields& config, std::string_view model_type);

}  // namespace roofcast
