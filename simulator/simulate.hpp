// Simulates a workload on one engine replica or on a cluster of replicas.
#pragma once

#include <cstdint>
#include <functional>

#include "base/progress.hpp"
#include "simulator/cluster/cluster.hpp"
#include "simulator/results/level_timeline.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

struct SimulationOptions {
  std::optional<std::int64_t> max_concurrency{};
  Slo slo{};
  EngineKind engine_kind = EngineKind::fast;
  /// Called periodically with (finished, total) requests. Returning false stops the run; the result
  /// then covers the requests that had finished.
  Progress progress{};
  /// Called with the first engine and the requests before the run starts, for a step time that
  /// executes the steps the engine planned. Both live until simulate() returns.
  std::function<void(const ReplicaEngine&, const RequestTable&)> attach{};
  /// If not null, receives running and waiting requests and KV cache use over time.
  LevelTimeline* levels = nullptr;
  /// Times to first tokens as they are reported and judged, over those simulated; tokens after the
  /// first follow as far behind it as they do. Changes no schedule and not whether the load
  /// saturates.
  double first_token_factor = 1;
};

/// Runs the workload to its end. Deterministic: same arguments, same result on any machine.
/// Requests that can never be served (longer than max_model_len or than the whole KV cache) are
/// marked rejected and counted in a note, never dropped. Throws Error if the engine's scheduler is
/// not simulated or the cluster cannot serve (check_cluster).
SimulationResult simulate(const Cluster& cluster, const Workload& workload,
                          const SimulationOptions& options);

/// Simulates a cluster of one replica.
SimulationResult simulate(const Replica& replica, const Workload& workload,
                          const SimulationOptions& options);

}  // namespace roofcast
