#include "planner/cost.hpp"

#include <algorithm>

namespace roofcast {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;

/// Mean number of replicas paid for over the run.
double replicas_paid(const PoolRun& pool, const SimulationResult& result) {
  const double whole = result.whole_makespan.value;
  double paid = 0;
  for (const ReplicaResult& replica : result.replicas) {
    // Time before the first arrival is paid for too, but not part of the makespan.
    if (replica.pool == pool.name) paid += std::min(replica.paid.value, whole);
  }
  // A single fixed replica is not listed.
  return result.replicas.empty() || whole <= 0 ? pool.replicas : paid / whole;
}

}  // namespace

std::optional<double> dollars_per_million(DollarsPerHour per_hour, double tokens_per_s) {
  if (tokens_per_s <= 0) return std::nullopt;
  return per_hour.value / (tokens_per_s * kSecondsPerHour) * kMillion;
}

std::optional<double> board_power_of(std::span<const PoolRun> pools,
                                     const SimulationResult& result) {
  double watts = 0;
  for (const PoolRun& pool : pools) {
    const std::optional<Watts>& limit = pool.deployment.gpu.board_power;
    if (!limit) return std::nullopt;
    watts += limit->value * pool.deployment.parallel.gpus() * replicas_paid(pool, result);
  }
  return watts;
}

std::optional<RunCost> cost_of(std::span<const PoolRun> pools, const SimulationResult& result) {
  RunCost cost;
  for (const PoolRun& pool : pools) {
    const std::optional<DollarsPerHour>& price = pool.deployment.gpu.price;
    if (!price) return std::nullopt;
    cost.per_hour.value +=
        price->value * pool.deployment.parallel.gpus() * replicas_paid(pool, result);
  }
  cost.dollars_per_million_output_tokens =
      dollars_per_million(cost.per_hour, result.output_tokens_per_s);
  cost.dollars_per_million_tokens =
      dollars_per_million(cost.per_hour, result.input_tokens_per_s + result.output_tokens_per_s);
  return cost;
}

}  // namespace roofcast
