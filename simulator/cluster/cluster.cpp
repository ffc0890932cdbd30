#include "simulator/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "simulator/engine/batching_policy.hpp"

namespace roofcast {
namespace {

void check_autoscaling(const Pool& pool) {
  const Autoscaling& scaling = *pool.autoscaling;
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("pool {}: autoscaling.{}", pool.name, what));
  };
  if (scaling.min_replicas < 1) refuse("min_replicas: expected at least 1");
  if (scaling.max_replicas < scaling.min_replicas || scaling.max_replicas > kMaxReplicas) {
    refuse(fmt::format("max_replicas: {} given, expected min_replicas {} to {}",
                       scaling.max_replicas, scaling.min_replicas, kMaxReplicas));
  }
  if (pool.replicas < scaling.min_replicas || pool.replicas > scaling.max_replicas) {
    refuse(
        fmt::format("min_replicas and max_replicas: {} to {} given, expected a range around "
                    "the {} replicas at the start",
                    scaling.min_replicas, scaling.max_replicas, pool.replicas));
  }
  if (!(scaling.target > 0)) refuse("target: expected a number above 0");
  if (scaling.interval < kShortestAutoscalingInterval) {
    refuse(fmt::format("interval: {} s given, expected at least {} s",
                       to_seconds(scaling.interval).value,
                       to_seconds(kShortestAutoscalingInterval).value));
  }
}

std::int32_t max_replicas(const Pool& pool) {
  return pool.autoscaling ? pool.autoscaling->max_replicas : pool.replicas;
}

void check_pool(const Pool& pool) {
  if (pool.replicas < 1 || pool.replicas > kMaxReplicas) {
    throw Error(fmt::format("pool {}: {} replicas given, expected 1 to {}", pool.name,
                            pool.replicas, kMaxReplicas));
  }
  if (pool.ranks < 1) {
    throw Error(fmt::format("pool {}: {} data-parallel ranks given, expected at least 1", pool.name,
                            pool.ranks));
  }
  if (pool.role != PoolRole::both && !make_policy(pool.replica.engine)->keeps_cache()) {
    throw Error(
        fmt::format("pool {}: an engine without a KV cache has no K and V to transfer, expected "
                    "another engine for prefill and decode pools",
                    pool.name));
  }
  if (pool.autoscaling) check_autoscaling(pool);
  if (std::int64_t{max_replicas(pool)} * pool.ranks > kMaxReplicas) {
    throw Error(
        fmt::format("pool {}: up to {} replicas of {} data-parallel ranks, expected at most "
                    "{} ranks in all",
                    pool.name, max_replicas(pool), pool.ranks, kMaxReplicas));
  }
}

void check_failure(const Cluster& cluster, const Failure& failure) {
  if (failure.pool < 0 || failure.pool >= std::ssize(cluster.pools)) {
    throw Error(fmt::format("failure of pool {}: expected 0 to {}", failure.pool,
                            cluster.pools.size() - 1));
  }
  const Pool& pool = cluster.pools[static_cast<std::size_t>(failure.pool)];
  const std::int32_t max = max_replicas(pool);
  if (failure.replica < 0 || failure.replica >= max) {
    throw Error(fmt::format("failure of replica {} of pool {}: expected 0 to {}", failure.replica,
                            pool.name, max - 1));
  }
}

}  // namespace

bool takes(const PoolRoute& route, std::int64_t input_tokens, std::string_view slo_class) {
  if (input_tokens < route.min_input_tokens) return false;
  if (route.max_input_tokens && input_tokens > *route.max_input_tokens) return false;
  return route.classes.empty() ||
         std::ranges::find(route.classes, slo_class) != route.classes.end();
}

void check_cluster(const Cluster& cluster) {
  if (cluster.pools.empty()) throw Error("cluster: no pools, expected at least one");
  for (const Pool& pool : cluster.pools) check_pool(pool);
  if (has_role(cluster.pools, PoolRole::prefill) != has_role(cluster.pools, PoolRole::decode)) {
    throw UsageError(
        "cluster: pools with role prefill and with role decode require each other "
        "(`prefill_replicas` and `decode_replicas`)");
  }
  if (has_role(cluster.pools, PoolRole::decode) && !(cluster.link.bandwidth.value > 0)) {
    throw Error("cluster: the KV link has no bandwidth, expected bytes per second");
  }
  for (const Failure& failure : cluster.failures) check_failure(cluster, failure);
}

}  // namespace roofcast
