// What weights and the KV cache are stored in, as flags of the engines say it. Readers and writers
// of knobs (planner/launch/serve_knobs.hpp).
#pragma once

#include <optional>
#include <string>

#include "planner/launch/serve_words.hpp"

namespace roofcast {

/// --quantization. Methods that leave it to the checkpoint say nothing; those without a format here
/// go to `not_modelled`.
void read_weight_format(ServeWords& words, const std::string& text, const std::string& flag);
std::optional<std::string> write_weight_format(const ServeWords& words);

/// --dtype. Throws UsageError for what is none.
void read_dtype(ServeWords& words, const std::string& text, const std::string& flag);
std::optional<std::string> write_dtype(const ServeWords& words);

/// --kv-cache-dtype, which each engine spells its own way.
void read_cache_dtype(ServeWords& words, const std::string& text, const std::string& flag);
std::optional<std::string> write_vllm_cache_dtype(const ServeWords& words);
std::optional<std::string> write_sglang_cache_dtype(const ServeWords& words);
std::optional<std::string> write_tensorrt_cache_dtype(const ServeWords& words);

}  // namespace roofcast
