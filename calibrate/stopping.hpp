// When a point has been timed often enough. Pure: no clock, no device.
#pragma once

#include <cstddef>
#include <span>

namespace roofcast {

/// Defaults: nvbench's least count and noise window (nvbench/detail/stdrel_criterion), with its
/// time box cut from 15 s to 60 ms, since a calibration has a thousand points.
struct StopRule {
  std::size_t min_samples = 10;
  double quiet_deviation = 0.01;  // relative standard deviation that is good enough
  /// From this many samples on, a noise that no longer changes is the point's own: more samples
  /// would not lower it.
  std::size_t noise_samples = 64;
  std::size_t noise_window = 16;  // last estimates of the noise that are compared
  double stable_noise = 0.05;     // that lie within this share of the largest
  double time_box_s = 60e-3;
  std::size_t min_samples_in_time_box =
      3;  // also when the time box is over: a median needs as many
};

enum class StopReason { none, quiet, stable_noise, time_box };

/// Whether to stop after these samples (seconds, in order of time) that took `elapsed_s`.
StopReason why_stop(const StopRule& rule, std::span<const double> samples, double elapsed_s);

}  // namespace roofcast
