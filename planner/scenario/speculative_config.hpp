// vLLM's --speculative-config, as a serve command line and Roofcast's own flag of that name have
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/engines/engine.hpp"

namespace roofcast {

/// The keys that bear on memory and time; others, such as the drafts' parallelism, are ignored.
struct SpeculativeConfig {
  std::string method{};  // as written; empty: not stated
  std::optional<std::int64_t> num_speculative_tokens{};
  std::string model{};  // the draft model's checkpoint; empty: not stated

  /// The method that drafts; none if Roofcast does not model it. vLLM's methods of the models' own
  /// heads (deepseek_mtp, qwen3_next_mtp, ...) are all mtp. Without a method the model's name tells
  /// (ngram, eagle-, eagle3), else it is a draft model; with neither vLLM refuses to start
  /// (config/speculative.py, __post_init__).
  std::optional<DraftMethod> modelled() const;
};

/// Reads the JSON object after `flag`. Throws UsageError if `text` is none, or if
/// num_speculative_tokens, where stated, is not a whole number.
SpeculativeConfig parse_speculative_config(const std::string& text, const std::string& flag);

}  // namespace roofcast
