// Decides when a point has been timed often enough. Pure: no clock, no device.
#pragma once

#include <cstddef>
#include <span>

namespace roofcast {

/// Defaults: nvbench's minimum sample count and noise window (nvbench/detail/stdrel_criterion),
/// with its time box reduced from 15 s to 60 ms, since a calibration has a thousand points.
struct StopRule {
  std::size_t min_samples = 10;
  double quiet_deviation = 0.01;  // sufficient relative standard deviation
  /// From this many samples on, noise that no longer changes is inherent to the point: more samples
  /// would not lower it.
  std::size_t noise_samples = 64;
  std::size_t noise_window = 16;  // number of latest noise estimates compared
  double stable_noise = 0.05;     // that must lie within this share of the largest
  double time_box_s = 60e-3;
  std::size_t min_samples_in_time_box =
      3;  // minimum even after the time box: a median needs this many
};

enum class StopReason { none, quiet, stable_noise, time_box };

/// Whether and why to stop after these samples (seconds, in order of time), which took `elapsed_s`.
StopReason why_stop(const StopRule& rule, std::span<const double> samples, double elapsed_s);

}  // namespace roofcast
