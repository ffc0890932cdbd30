// The flags that say how many replicas there are and who chooses among them; a scenario file says
// more (pools, autoscaling, failures).
#pragma once

#include "planner/flags/flag.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// What was given on the command line; unset values follow the scenario file or its defaults.
struct ClusterOptions {
  std::optional<std::int32_t> replicas;
  std::optional<std::int32_t> prefill_replicas;
  std::optional<std::int32_t> decode_replicas;
  std::optional<RouterPolicy> router;
  std::optional<KvLink> kv_link;
};

const Flags<ClusterOptions>& cluster_flags();

/// Puts what was given into `scenario`. Throws UsageError when the flags contradict each other or
/// the scenario's pools.
void apply(const ClusterOptions& options, Scenario& scenario);

}  // namespace roofcast
