#include "model/engines/sampling.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace roofcast {
namespace {

constexpr std::array<std::pair<SamplingKind, std::string_view>, 3> kNames = {
    {{SamplingKind::plain, "plain"},
     {SamplingKind::top_p, "top_p"},
     {SamplingKind::penalty, "penalty"}}};

/// PyTorch sorts up to this many rows one by one, each with its own radix sort, and more rows as
/// segments of one sort (aten/src/ATen/native/cuda/Sort.cu).
constexpr std::int64_t kRowsSortedApart = 128;

/// Time of vLLM's top-p filter in PyTorch, per logit, up to 128 rows and beyond. Benchmarks at
/// 131,072 logits: 64 rows 1.07 and 1.13 ms, 128 rows 2.32 ms (4.18 ms on another GPU), 512 rows
/// 6.15 and 6.19 ms, 1024 rows 10.7 ms (vllm-project/vllm pulls 40376 and 51507).
constexpr Seconds kSortOfALogit{0.14e-9};
constexpr Seconds kSortOfALogitTogether{0.06e-9};

}  // namespace

std::string_view name_of(SamplingKind sampling) {
  return std::find_if(kNames.begin(), kNames.end(),
                      [&](const auto& entry) { return entry.first == sampling; })
      ->second;
}

std::optional<SamplingKind> parse_sampling(std::string_view text) {
  for (const auto& [sampling, name] : kNames) {
    if (name == text) return sampling;
  }
  return std::nullopt;
}

Seconds SerialTime::of(std::int64_t n) const {
  const auto first = static_cast<double>(std::min(n, rows));
  return each * first + each_beyond * (static_cast<double>(n) - first);
}

SerialTime sort_time(std::int64_t vocabulary) {
  const auto logits = static_cast<double>(vocabulary);
  return {.each = kSortOfALogit * logits,
          .rows = kRowsSortedApart,
          .each_beyond = kSortOfALogitTogether * logits};
}

}  // namespace roofcast
