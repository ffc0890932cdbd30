// Several replicas behind one endpoint: pools of equal replicas, who chooses among them, and what
// happens to them. One replica is the cluster of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/cluster/autoscaler.hpp"
#include "simulator/cluster/kv_link.hpp"
#include "simulator/cluster/router.hpp"
#include "simulator/engine/replica_engine.hpp"

namespace roofcast {

/// Of a pool, data-parallel ranks counted one by one. More than any service runs of one model, so
/// more is a mistake in the input.
inline constexpr std::int32_t kMaxReplicas = 10'000;

/// What the replicas of a pool do: prompts and all tokens; prompts and the first token; or the
/// tokens after that, with K and V from a prefill replica.
enum class PoolRole { both, prefill, decode };

/// Equal replicas.
struct Pool {
  std::string name = "replicas";
  PoolRole role = PoolRole::both;
  Replica replica{};          // one data-parallel rank of it
  std::int32_t replicas = 1;  // at the start
  std::int32_t ranks = 1;     // data-parallel ranks of a replica, each with its own scheduler
  /// Ranks step together, each as long as the slowest (MoE layers with tokens of all ranks).
  /// An idle rank's dummy batch takes no longer than another's real one, so it adds nothing.
  bool lockstep = false;
  RouterOptions rank_router{.policy = RouterPolicy::vllm_dp};
  std::optional<Autoscaling> autoscaling{};
};

/// A replica is lost at a time, with all it holds.
struct Failure {
  Nanoseconds time = 0;
  std::int32_t pool = 0;
  std::int32_t replica = 0;  // within the pool
  bool retried = true;  // its requests are sent again at once, to start anew; else they are lost
  std::optional<Nanoseconds> back_after{};  // it returns empty after so long
};

struct Cluster {
  std::vector<Pool> pools{};
  RouterOptions router{};         // among replicas that take prompts
  RouterOptions decode_router{};  // among decode replicas
  KvLink link{};
  std::vector<Failure> failures{};
  std::uint64_t seed = 0;  // of the routers' random streams
};

/// Throws Error naming the pool and the knob when the cluster cannot serve: no pools, prefill
/// without decode, a failure of a replica that does not exist, autoscaling bounds that cross.
void check_cluster(const Cluster& cluster);

}  // namespace roofcast
