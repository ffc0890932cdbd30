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

std::optional<RunCost> cost_of(std::span<const PoolRun> pools, const SimulationResult& result) {
  RunCost cost;
  for (const PoolRun& pool : pools) {
    const std::optional<DollarsPerHour>& price = pool.deployment.gpu.price;
    if (!price) return std::nullopt;
    cost.per_hour.value +=
        price->value * pool.deployment.parallel.gpus() * replicas_paid(pool, result);
  }
  const double tokens_per_hour = result.output_tokens_per_s * kSecondsPerHour;
  if (tokens_per_hour > 0) {
    cost.dollars_per_million_output_tokens = cost.per_hour.value / tokens_per_hour * kMillion;
  }
  return cost;
}

}  // namespace roofcast
