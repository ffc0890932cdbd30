// How the next token is chosen, as far as it costs time. Requests without sampling parameters use
// the model's generation_config.json (vLLM's --generation-config auto).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.hpp"

namespace roofcast {

enum class SamplingKind {
  plain,    // greedy, or temperature only
  top_p,    // from the most likely tokens: top-p, with or without top-k
  penalty,  // top-p plus a repetition, presence or frequency penalty
};

inline constexpr const char* kSamplings = "plain, top_p or penalty";
std::string_view name_of(SamplingKind sampling);
std::optional<SamplingKind> parse_sampling(std::string_view text);

/// Time per row that follows no roofline: kernels that process rows one by one and are too small to
/// fill a device.
struct SerialTime {
  Seconds each{};         // per row
  std::int64_t rows = 0;  // up to this many rows
  Seconds each_beyond{};  // per further row

  Seconds of(std::int64_t n) const;
  bool operator==(const SerialTime&) const = default;
};

/// Time to sort a row's logits for top-p, as PyTorch does: up to 128 rows one after the other, more
/// rows together.
SerialTime sort_time(std::int64_t vocabulary);

}  // namespace roofcast
