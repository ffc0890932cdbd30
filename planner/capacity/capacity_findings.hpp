// How much a deployment carries within its SLO, how sure that is, what ends it, and what is left
// when a replica is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/confidence.hpp"
#include "planner/capacity/limits.hpp"
#include "planner/capacity/load_study.hpp"

namespace roofcast {

/// What is asked beside the capacity itself.
struct CapacityRequest {
  bool explain = false;   // the capacity with each limit a tenth wider
  bool lose_one = false;  // with one replica fewer, pool by pool
};

/// The capacity with a limit a tenth wider.
struct RelaxedCapacity {
  LimitKind kind = LimitKind::kv_memory;
  std::optional<double> load{};
};

/// A pool with one replica fewer.
struct LostReplica {
  std::string pool{};
  std::int32_t left = 0;             // replicas; with none nothing is served
  std::optional<LoadPoint> asked{};  // at the load that was asked for, if any was and any is left
  Capacity capacity{};
};

struct CapacityFindings {
  LoadStudy study{};  // as it was searched in the end
  Capacity capacity{};
  std::optional<LoadPoint> asked{};        // at the load that was asked for
  std::optional<Confidence> confidence{};  // that it holds there
  std::optional<double> low{}, high{};     // capacity with steps 1.28 sd slower and faster
  std::vector<LoadPoint> curve{};          // some loads from little to beyond capacity, by load
  double limit_load = 0;                   // the load that the limits are of
  LimitReport limits{};
  std::optional<double> unrelaxed{};       // capacity that `relaxed` is compared with
  std::vector<RelaxedCapacity> relaxed{};  // in the order of gains; with `explain`
  std::vector<LostReplica> lost{};         // with `lose_one`
  std::vector<std::string> notes{};
};

/// Of a study without refusal. Throws Error once the execution's progress ends it.
CapacityFindings capacity_findings(LoadStudy study, const CapacityRequest& request,
                                   Execution& execution);

/// Whether the answer is yes: some load holds, the one asked for does, and still with one replica
/// fewer where that was asked.
bool holds(const CapacityFindings& answer);

/// Capacity by the load asked for; nothing when none was, or nothing holds.
std::optional<double> headroom_of(const CapacityFindings& answer);

}  // namespace roofcast
