#include "planner/flags/cluster_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

RouterPolicy parse_router(const std::string& text, const std::string& flag) {
  const auto policy = parse_router_policy(text);
  if (policy) return *policy;
  throw UsageError(fmt::format("{}: '{}' given, expected one of {}", flag, text,
                               fmt::join(router_policy_names(), ", ")));
}

/// A preset, or bytes per second.
KvLink parse_link(const std::string& text, const std::string& flag) {
  if (const auto link = find_kv_link(text)) return *link;
  std::vector<std::string> names;
  for (const KvLink& link : kv_link_presets()) names.push_back(link.name);
  const bool number = !text.empty() && text[0] >= '0' && text[0] <= '9';
  const Bytes bytes = number ? parse_bytes(text, flag) : Bytes{};
  if (bytes.value < kSlowestLink.value) {
    throw UsageError(fmt::format(
        "{}: '{}' given, expected bytes per second such as 50GB (at least {:g}), or one of {}",
        flag, text, kSlowestLink.value, fmt::join(names, ", ")));
  }
  KvLink link;
  link.bandwidth = BytesPerSecond{bytes.value};
  return link;
}

std::int32_t parse_replicas(const std::string& text, const std::string& flag) {
  const std::int64_t replicas = parse_positive(text, flag);
  if (replicas <= kMaxReplicas) return static_cast<std::int32_t>(replicas);
  throw UsageError(fmt::format("{}: {} given, expected at most {}", flag, replicas, kMaxReplicas));
}

PoolScenario& only_pool(ClusterScenario& cluster) {
  if (cluster.pools.empty()) cluster.pools.emplace_back();
  if (cluster.pools.size() == 1 && cluster.pools.front().role == PoolRole::both) {
    return cluster.pools.front();
  }
  throw UsageError("--replicas: the scenario has several pools; set their replicas in the file");
}

/// Replicas that do both and replicas of prefill and decode apart are alternatives: what is set
/// takes the place of the other.
void turn_into(ClusterScenario& cluster, PoolRole role, const char* name) {
  auto& pools = cluster.pools;
  const bool apart =
      pools.size() == 2 && has_role(pools, PoolRole::decode) && has_role(pools, PoolRole::prefill);
  const bool together = pools.size() == 1 && pools.front().role == PoolRole::both;
  if (role == PoolRole::both ? !apart : !together) return;
  pools.resize(1);
  pools.front().role = role;
  pools.front().name = name;
}

/// Sets replicas of the scenario's only pool with that role, or of a new one.
void set_replicas(ClusterScenario& cluster, PoolRole role, const char* name,
                  std::int32_t replicas) {
  auto& pools = cluster.pools;
  const auto is_one = [role](const PoolScenario& pool) { return pool.role == role; };
  auto pool = std::find_if(pools.begin(), pools.end(), is_one);
  if (std::count_if(pools.begin(), pools.end(), is_one) > 1) {
    throw UsageError(
        fmt::format("--{}-replicas: the scenario has several {} pools; set their "
                    "replicas in the file",
                    name, name));
  }
  if (pool == pools.end()) {
    pool = pools.insert(pools.end(), PoolScenario{.name = name, .role = role});
  }
  pool->replicas = replicas;
}

}  // namespace

const Flags<ClusterOptions>& cluster_flags() {
  using C = ClusterOptions;
  static const Flags<C> flags = {
      {.name = "replicas",
       .placeholder = "N",
       .help = "replicas behind one router (default 1)",
       .read = into(&C::replicas, parse_replicas)},
      {.name = "router",
       .placeholder = "POLICY",
       .help = "least_outstanding, prefix_affinity ... (default round_robin)",
       .read = into(&C::router, parse_router),
       .place = "cluster.router"},
      {.name = "prefill-replicas",
       .placeholder = "N",
       .help = "replicas that only prefill",
       .read = into(&C::prefill_replicas, parse_replicas)},
      {.name = "decode-replicas",
       .placeholder = "N",
       .help = "replicas that only decode, after the prompt",
       .read = into(&C::decode_replicas, parse_replicas)},
      {.name = "kv-link",
       .placeholder = "LINK",
       .help = "nvlink4 ... or bytes per second (default infiniband-ndr)",
       .read = into(&C::kv_link, parse_link),
       .place = "cluster.kv_link.bandwidth_bytes_per_s"}};
  return flags;
}

void apply(const ClusterOptions& options, Scenario& scenario) {
  const bool apart = options.prefill_replicas || options.decode_replicas;
  if (!options.replicas && !apart && !options.router && !options.kv_link) return;
  if (options.router && !scenario.cluster && !options.replicas && !apart) {
    throw UsageError("--router: needs --replicas, --prefill-replicas or pools in the scenario");
  }
  if (options.replicas && apart) {
    throw UsageError("--replicas excludes --prefill-replicas and --decode-replicas");
  }
  ClusterScenario cluster = scenario.cluster.value_or(ClusterScenario{});
  if (options.replicas) {
    turn_into(cluster, PoolRole::both, "replicas");
    only_pool(cluster).replicas = *options.replicas;
  }
  if (options.prefill_replicas) {
    turn_into(cluster, PoolRole::prefill, "prefill");
    set_replicas(cluster, PoolRole::prefill, "prefill", *options.prefill_replicas);
  }
  if (options.decode_replicas) {
    turn_into(cluster, PoolRole::decode, "decode");
    set_replicas(cluster, PoolRole::decode, "decode", *options.decode_replicas);
  }
  if (cluster.pools.empty()) cluster.pools.emplace_back();
  if (options.router) cluster.router.policy = cluster.decode_router.policy = *options.router;
  if (options.kv_link) {
    if (!has_role(cluster.pools, PoolRole::decode)) {
      throw UsageError("--kv-link: needs --prefill-replicas and --decode-replicas");
    }
    KvLink& link = cluster.link;
    link.name = options.kv_link->name;
    link.bandwidth = options.kv_link->bandwidth;
    link.source = options.kv_link->source;
  }
  scenario.cluster = cluster;
}

}  // namespace roofcast
