#include "calibrate/stopping.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace roofcast {

namespace {

/// Whether the relative deviation of all samples so far changed little over the last ones.
bool noise_is_stable(const StopRule& rule, std::span<const double> samples) {
  if (samples.size() < rule.noise_samples || samples.size() <= rule.noise_window) return false;
  double min = relative_deviation(samples);
  double largest = min;
  for (std::size_t dropped = 1; dropped < rule.noise_window; ++dropped) {
    const double noise = relative_deviation(samples.first(samples.size() - dropped));
    min = std::min(min, noise);
    largest = std::max(largest, noise);
  }
  return largest - min <= rule.stable_noise * largest;
}

}  // namespace

StopReason why_stop(const StopRule& rule, std::span<const double> samples, double elapsed_s) {
  if (samples.size() >= rule.min_samples) {
    if (relative_deviation(samples) < rule.quiet_deviation) return StopReason::quiet;
    if (noise_is_stable(rule, samples)) return StopReason::stable_noise;
  }
  if (samples.size() >= rule.min_samples_in_time_box && elapsed_s >= rule.time_box_s) {
    return StopReason::time_box;
  }
  return StopReason::none;
}

}  // namespace roofcast
