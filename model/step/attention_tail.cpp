#include "model/step/attention_tail.hpp"

#include <algorithm>

namespace roofcast {

namespace {

// num_splits_heuristic(): no split above this share of the blocks that fill the device.
constexpr double kFullShare = 0.8;
constexpr double kBlocksPerMultiprocessor = 2.0;

/// Mean of the `count` longest (may be fractional). The lengths that are not kept are assumed to
/// fall linearly from the shortest kept one, consistent with the mean of the rest.
double mean_of_longest(const UnevenBatch& batch, double count) {
  double sum = 0;
  double taken = 0;
  for (const double tokens : batch.longest) {
    if (tokens <= 0 || taken >= count) break;
    const double part = std::min(1.0, count - taken);
    sum += part * tokens;
    taken += part;
  }
  const double rest = batch.sequences - taken;
  if (taken < static_cast<double>(kLongestKept) || rest <= 0) return taken > 0 ? sum / taken : 0.0;
  const double more = std::min(count - taken, rest);
  const double first = batch.longest.back();
  const double fall = first - (batch.sequences * batch.mean - sum) / rest;  // down to their mean
  return (sum + more * (first - fall * more / rest)) / (taken + more);
}

/// Mean of max(0, longest - max(others, v)) for v uniform between `low` and `high`.
double mean_excess(double longest, double others, double low, double high) {
  if (high <= low) return longest - others;
  const double flat = std::clamp(others, low, high);
  const double end = std::clamp(longest, flat, high);
  const double falling =
      ((longest - flat) * (longest - flat) - (longest - end) * (longest - end)) / 2;
  return ((longest - others) * (flat - low) + falling) / (high - low);
}

}  // namespace

Seconds tail_time(const OperatorShape& shape, const UnevenBatch& batch, const EvenKernel& even,
                  int multiprocessors) {
  if (shape.beside_prefill) return even.token * std::max(0.0, batch.longest.front() - batch.mean);
  const auto heads = static_cast<double>(shape.kv_heads);
  const double slots = kBlocksPerMultiprocessor * std::max(1, multiprocessors);
  const double waves = batch.sequences * heads / slots;
  if (waves < kFullShare) return {};
  const double filling = batch.sequences * batch.mean * even.token.value / even.time.value;
  const double alike = std::min(heads, slots / batch.sequences);
  const double others = mean_of_longest(batch, std::min(batch.sequences, filling * heads / alike));
  const double longest = batch.longest.front();
  if (filling * heads <= alike || longest <= others) return {};
  const double latest = std::clamp(waves, 1.0, 1 + batch.sequences / slots);
  return even.token * mean_excess(longest, others, batch.mean, latest * batch.mean);
}

}  // namespace roofcast
