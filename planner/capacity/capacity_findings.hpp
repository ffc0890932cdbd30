// The load that a deployment carries within its SLO, the confidence in it, the limits that bind,
// and what remains when a replica is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/load_study.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/verdict/confidence.hpp"
#include "planner/verdict/limits.hpp"

namespace roofcast {

/// What to find in addition to the capacity.
struct CapacityRequest {
  bool explain = false;   // the capacity with each limit 10 % wider
  bool lose_one = false;  // with one replica fewer, pool by pool
};

/// The capacity with one limit 10 % wider.
struct RelaxedCapacity {
  LimitKind kind = LimitKind::kv_memory;
  std::optional<double> load{};
};

/// A pool with one replica fewer.
struct LostReplica {
  std::string pool{};
  std::int32_t left = 0;             // replicas; 0: nothing is served
  std::optional<LoadPoint> asked{};  // at the asked load, if there is one and replicas are left
  Capacity capacity{};
};

struct CapacityFindings {
  LoadStudy study{};  // as last searched
  Capacity capacity{};
  std::optional<LoadPoint> asked{};          // at the asked load
  std::optional<Confidence> confidence{};    // that it holds there
  std::vector<PoolUtilisation> asked_use{};  // there
  std::optional<double> low{}, high{};       // 80 % interval: step times and host work on requests
  std::vector<LoadPoint> curve{};            // some loads from low to beyond capacity, sorted
  double limit_load = 0;                     // load at which the limits are judged
  std::int64_t limit_requests = 0;           // simulated there, as many as its verdict needed
  LimitReport limits{};
  std::vector<PoolUtilisation> limit_use{};  // there
  std::optional<double> unrelaxed{};         // baseline for `relaxed`
  std::vector<RelaxedCapacity> relaxed{};    // in the order of gains; with `explain`
  std::vector<LostReplica> lost{};           // with `lose_one`
  ServingCost cost{};                        // at the capacity; without one, before any load
  std::string doubt{};  // why the verdict at the capacity does not stand; empty if it does
  std::vector<std::string> notes{};
};

/// Precondition: the study has no refusal. Throws Error if the execution's progress cancels.
CapacityFindings capacity_findings(LoadStudy study, const CapacityRequest& request,
                                   Execution& execution);

/// What the study's requests cost and take at a load, and how that is known.
struct LoadCost {
  ServingCost cost{};
  StepSources step_sources{};   // of several pools the first's
  double step_uncertainty = 0;  // likewise: one standard deviation of step times
};

/// One more simulation. `load` holds, whatever the number of requests leaves open: tokens have the
/// price that they have at its rate.
LoadCost cost_at(const LoadStudy& study, double load, Execution& execution);

/// Whether the answer is yes: some load holds, and so does the asked one, and it still does with
/// one replica fewer if that was requested.
bool holds(const CapacityFindings& answer);

/// Capacity / asked load; nullopt if no load was asked, or none holds.
std::optional<double> headroom_of(const CapacityFindings& answer);

}  // namespace roofcast
