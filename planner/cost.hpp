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
  /// The same per million prompt and output tokens together.
  std::optional<double> dollars_per_million_tokens{};
};

/// The cost per million tokens of what costs this much; nullopt without tokens.
std::optional<double> dollars_per_million(DollarsPerHour per_hour, double tokens_per_s);

/// Every GPU at its profile's price (on-demand rent of one GPU) for as long as its replica is paid
/// for: with autoscaling per_hour is the mean over the makespan. Returns nullopt if a pool's GPU
/// has no price. Excludes idle hours outside the run, discounts, network and storage.
std::optional<RunCost> cost_of(std::span<const PoolRun> pools, const SimulationResult& result);

/// Watts of all GPUs at their board's limit, counted as in cost_of: what has to be supplied, and
/// more than what is drawn on average. Returns nullopt if a GPU's limit is not known.
std::optional<double> board_power_of(std::span<const PoolRun> pools,
                                     const SimulationResult& result);

}  // namespace roofcast
