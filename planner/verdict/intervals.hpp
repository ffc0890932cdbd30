// How far off the latencies of a simulation may be: the uncertainty of its inputs, and chance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/distribution.hpp"
#include "base/progress.hpp"
#include "base/statistics.hpp"
#include "planner/scenario/simulation_run.hpp"

namespace roofcast {

/// Other draws of a synthetic load, for what chance does.
inline constexpr int kOtherDraws = 5;

/// Lower and upper end of each mean and percentile of one latency; `low.count` is that of the
/// latency.
struct LatencyInterval {
  std::string latency{};       // LatencyFigure::name
  Distribution low{}, high{};  // seconds
};

struct LatencyIntervals {
  double level = kIntervalShare;  // share of all cases that an interval is to contain
  bool chance = false;            // from other draws of the load, too
  /// Some simulation of the slow end does not keep up: its latencies grow with the run's length,
  /// and upper ends are those of this length.
  bool saturates = false;
  std::vector<LatencyInterval> latencies{};  // of those that were measured, as in kLatencyFigures
};

/// 80 % intervals around the result of a run that simulate_sampled has filled in. Each uncertain
/// input (Deviations) is moved alone by the normal quantile of 90 %, 1.28 standard deviations, up
/// and down; of a synthetic load kOtherDraws others are drawn, whose logarithms' standard deviation
/// s gives a factor of exp(t s), with Student's t of 90 % (`other_draws`; the load must be
/// synthetic). What each cause adds on one side adds in squares: the causes are independent, and
/// the latency is taken as linear in each between its ends (the delta method). `progress` counts
/// simulations; nullopt if it cancelled.
std::optional<LatencyIntervals> intervals_of(const SimulationRun& run, bool other_draws,
                                             int threads, const Progress& progress);

}  // namespace roofcast
