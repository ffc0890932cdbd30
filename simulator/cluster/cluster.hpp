// Several replicas behind one endpoint: pools of identical replicas, their routers, failures and
// autoscaling. A single replica is a cluster of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "simulator/cluster/autoscaler.hpp"
#include "simulator/cluster/kv_link.hpp"
#include "simulator/cluster/router.hpp"
#include "simulator/engine/replica_engine.hpp"

namespace roofcast {

/// Per pool, counting data-parallel ranks individually. More than any service runs of one model, so
/// larger values are input errors.
inline constexpr std::int32_t kMaxReplicas = 10'000;

/// Work of a pool's replicas: prompts and all tokens; prompts and the first token; or the tokens
/// after that, with K and V from a prefill replica.
enum class PoolRole { both, prefill, decode };
inline constexpr NameTable<PoolRole, 3> kPoolRoles{
    {{PoolRole::both, "both"}, {PoolRole::prefill, "prefill"}, {PoolRole::decode, "decode"}}};
inline std::string_view name_of(PoolRole role) { return name_in(kPoolRoles, role); }

/// Whether one of `pools`, whatever describes them, has the role.
bool has_role(const auto& pools, PoolRole role) {
  return std::ranges::any_of(pools, [role](const auto& pool) { return pool.role == role; });
}

/// Which requests the router sends to a pool; those of no pool are rejected.
struct PoolRoute {
  std::int64_t min_input_tokens = 0;
  std::optional<std::int64_t> max_input_tokens{};
  std::vector<std::string> classes{};  // names in Slo::classes; empty: of any class

  bool operator==(const PoolRoute&) const = default;
};

/// Whether the route takes a request of that prompt and class ("" if there are none).
bool takes(const PoolRoute& route, std::int64_t input_tokens, std::string_view slo_class);

/// Identical replicas.
struct Pool {
  std::string name = "replicas";
  PoolRole role = PoolRole::both;
  Replica replica{};          // one data-parallel rank of a replica
  std::int32_t replicas = 1;  // at the start
  std::int32_t ranks = 1;     // data-parallel ranks per replica, each with its own scheduler
  /// Ranks step together, each step as long as the slowest (MoE layers with tokens of all ranks).
  /// An idle rank's dummy batch takes no longer than another rank's real one, so it adds nothing.
  bool lockstep = false;
  RouterOptions rank_router{.policy = RouterPolicy::vllm_dp};
  std::optional<Autoscaling> autoscaling{};
  std::optional<PoolRoute> route{};  // unset: takes any request
};

/// A replica fails at a given time and loses everything it holds.
struct Failure {
  Nanoseconds time = 0;
  std::int32_t pool = 0;
  std::int32_t replica = 0;  // within the pool
  bool retried = true;  // its requests are resent at once and start over; if false, they are lost
  std::optional<Nanoseconds> back_after{};  // it returns empty after this time; unset: never
};

struct Cluster {
  std::vector<Pool> pools{};
  RouterOptions router{};         // among replicas that take prompts
  RouterOptions decode_router{};  // among decode replicas
  KvLink link{};
  std::vector<Failure> failures{};
  std::uint64_t seed = 0;  // of the routers' random streams
};

/// Throws Error naming the pool and the parameter if the cluster cannot serve: no pools, prefill
/// without decode, a failure of a replica that does not exist, autoscaling minimum above maximum.
void check_cluster(const Cluster& cluster);

}  // namespace roofcast
