// The cost of a run's GPUs: per hour, and per output token.
#pragma once

#include <optional>
#include <span>

#include "planner/scenario_run.hpp"

namespace roofcast {

struct RunCost {
  DollarsPerHour per_hour{};
  /// Per million output tokens at the run's rate; absent: there were none.
  std::optional<double> dollars_per_million_output_tokens{};
};

/// Every GPU at its profile's price (on-demand rent of one GPU) for as long as its replica is paid
/// for: with autoscaling per_hour is the mean over the makespan. Returns nullopt if a pool's GPU
/// has no price. Excludes idle hours outside the run, discounts, network and storage.
std::optional<RunCost> cost_of(std::span<const PoolRun> pools, const SimulationResult& result);

}  // namespace roofcast
