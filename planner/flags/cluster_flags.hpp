// The flags for the number of replicas and the router; a scenario file can also set pools,
// autoscaling and failures.
#pragma once

#include "planner/flags/flag.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Command-line values; unset ones follow the scenario file or its defaults.
struct ClusterOptions {
  std::optional<std::int32_t> replicas;
  std::optional<std::int32_t> prefill_replicas;
  std::optional<std::int32_t> decode_replicas;
  std::optional<RouterPolicy> router;
  std::optional<KvLink> kv_link;
};

const Flags<ClusterOptions>& cluster_flags();

/// Writes the given values into `scenario`. Throws UsageError if the flags contradict each other or
/// the scenario's pools.
void apply(const ClusterOptions& options, Scenario& scenario);

}  // namespace roofcast
