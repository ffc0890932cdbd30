// How the next token is chosen, as far as it takes time: requests that say nothing are sampled as
// the model's generation_config.json asks (vLLM's --generation-config auto).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.hpp"

namespace roofcast {

enum class SamplingKind {
  plain,    // greedy, or by temperature alone
  top_p,    // from the likeliest tokens: top-p, with or without top-k
  penalty,  // that, with a repetition, presence or frequency penalty
};

inline constexpr const char* kSamplings = "plain, top_p or penalty";
std::string_view name_of(SamplingKind sampling);
std::optional<SamplingKind> parse_sampling(std::string_view text);

/// Time per row that follows no roofline: kernels too small to fill a device, a row at a time.
struct SerialTime {
  Seconds each{};         // of each row,
  std::int64_t rows = 0;  // up to so many;
  Seconds each_beyond{};  // of each further one

  Seconds of(std::int64_t n) const;
  bool operator==(const SerialTime&) const = default;
};

/// Sorting the logits of a row for top-p, as PyTorch does: up to 128 rows one after the other, more
/// of them together.
SerialTime sort_time(std::int64_t vocabulary);

}  // namespace roofcast
