// Number formats of weights and KV cache as the engines' flags spell them: readers and writers of
// knobs (planner/launch/serve_knobs.hpp).
#pragma once

#include <optional>
#include <string>

#include "planner/launch/serve_words.hpp"

namespace roofcast {

/// --quantization. Ignores methods that leave the format to the checkpoint; adds those without a
/// format here to `not_modelled`.
void read_weight_format(ServeWords& words, const std::string& text, const std::string& flag);
std::optional<std::string> write_weight_format(const ServeWords& words);

/// --dtype. Throws UsageError if `text` is not a dtype.
void read_dtype(ServeWords& words, const std::string& text, const std::string& flag);
std::optional<std::string> write_dtype(const ServeWords& words);

/// --kv-cache-dtype, which each engine spells differently.
void read_cache_dtype(ServeWords& words, const std::string& text, const std::string& flag);
std::optional<std::string> write_vllm_cache_dtype(const ServeWords& words);
std::optional<std::string> write_sglang_cache_dtype(const ServeWords& words);
std::optional<std::string> write_tensorrt_cache_dtype(const ServeWords& words);

}  // namespace roofcast
