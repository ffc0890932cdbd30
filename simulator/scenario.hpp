// The scenario a user asks to simulate: everything that decides the result, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "simulator/cluster/cluster.hpp"
#include "simulator/deployment_options.hpp"
#include "simulator/results/slo.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// A pool of replicas. What `own` leaves open is the scenario's.
struct PoolScenario {
  std::string name = "replicas";
  PoolRole role = PoolRole::both;
  std::int32_t replicas = 1;
  /// Without a model. If it has any degree, or any override, it has none of the scenario's.
  DeploymentOptions own{};
  std::optional<RouterPolicy> rank_router{};  // among data-parallel ranks; unset: the engine's
                                              // (default_rank_router)
  std::optional<bool> lockstep{};  // ranks step together; unset: if the model has experts
  std::optional<Autoscaling> autoscaling{};
  std::optional<PoolRoute> route{};  // unset: takes any request
};

struct ClusterScenario {
  std::vector<PoolScenario> pools{};
  RouterOptions router{};
  RouterOptions decode_router{};
  KvLink link = *find_kv_link(kDefaultKvLink);
  std::vector<Failure> failures{};  // refer to pools by index
};

/// What is paid for an hour of a GPU.
enum class PriceKind { on_demand, reserved, spot, owned };
inline constexpr NameTable<PriceKind, 4> kPriceKinds{{{PriceKind::on_demand, "on-demand"},
                                                      {PriceKind::reserved, "reserved"},
                                                      {PriceKind::spot, "spot"},
                                                      {PriceKind::owned, "owned"}}};
inline std::string_view name_of(PriceKind kind) { return name_in(kPriceKinds, kind); }

/// Which prices count; they change no time, only costs.
struct Pricing {
  /// Path of a price table (planner/scenario/prices.hpp); empty: the profiles' prices.
  std::string table{};
  PriceKind kind = PriceKind::on_demand;

  bool operator==(const Pricing&) const = default;
};

struct Scenario {
  std::string name{};
  DeploymentOptions deployment{.engine = kDefaultEngine};
  std::optional<ClusterScenario> cluster{};  // unset: one replica
  WorkloadSpec workload{};
  std::optional<std::int64_t> max_concurrency{};  // limit on requests in flight; further ones wait
                                                  // in the client
  /// Output limit that clients declare: tokens, or kNoMaxTokens if they declare none. Unset: as the
  /// trace records it, otherwise exactly what each request generates.
  std::optional<std::int64_t> max_tokens{};
  Slo slo{};
  Pricing pricing{};
  std::uint64_t seed = 0;
};

}  // namespace roofcast
