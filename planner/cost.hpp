// What a run's GPUs cost: by the hour, and by the tokens that they gave.
#pragma once

#include <optional>
#include <span>

#include "planner/scenario_run.hpp"

namespace roofcast {

struct RunCost {
  DollarsPerHour per_hour{};
  /// Of a million output tokens at the rate of the run; absent: none came.
  std::optional<double> dollars_per_million_output_tokens{};
};

/// Every GPU at its profile's price (rent of one GPU, on demand), for as long as its replica was
/// paid for: with autoscaling per_hour is the mean over the makespan. Nothing when a pool's GPU has
/// no price. Idle hours outside the run, discounts, network and storage are not in it.
std::optional<RunCost> cost_of(std::span<const PoolRun> pools, const SimulationResult& result);

}  // namespace roofcast
