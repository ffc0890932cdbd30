// The simulation of a workload on one engine replica, or on a cluster of them.
#pragma once

#include <cstdint>
#include <functional>

#include "simulator/cluster/cluster.hpp"
#include "simulator/results/level_timeline.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

struct SimulationOptions {
  std::optional<std::int64_t> max_concurrency{};
  Slo slo{};
  EngineKind engine_kind = EngineKind::fast;
  /// Called now and then with (finished, total) requests; returning false stops the run, and the
  /// result then covers what had finished.
  std::function<bool(std::int64_t, std::int64_t)> progress{};
  /// Given the first engine and the requests before anything runs: for a step time that carries out
  /// what the engine has planned. Both live until simulate() returns.
  std::function<void(const ReplicaEngine&, const RequestTable&)> attach{};
  /// Gets what ran, waited and was cached over time; null: nobody asks.
  LevelTimeline* levels = nullptr;
};

/// Runs the workload to its end. Deterministic: same arguments, same result on any machine.
/// Requests that can never be served (longer than max_model_len, or than the whole KV cache) are
/// marked rejected and counted with a note, never dropped. Throws Error for an engine whose
/// scheduler is not simulated, and for a cluster that cannot serve (check_cluster).
SimulationResult simulate(const Cluster& cluster, const Workload& workload,
                          const SimulationOptions& options);

/// The cluster of one.
SimulationResult simulate(const Replica& replica, const Workload& workload,
                          const SimulationOptions& options);

}  // namespace roofcast
