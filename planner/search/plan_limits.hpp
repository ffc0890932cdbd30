// What a plan minimises and what it must not exceed: sums over GPUs, known before anything is
// simulated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/hardware/gpu.hpp"
#include "planner/search/candidate.hpp"

namespace roofcast {

enum class PlanObjective {
  cost,   // dollars per hour
  gpus,   // number of GPUs
  power,  // watts of all boards at their power limit
};

/// "cost", "gpus" or "power" (also "energy"); nullopt for any other text.
std::optional<PlanObjective> parse_plan_objective(std::string_view text);
std::string_view name_of(PlanObjective objective);
inline constexpr const char* kPlanObjectives = "cost, gpus or power";

/// Keyed by GPU as in Shape::gpu. Unset: no limit.
struct PlanLimits {
  std::optional<double> budget_per_hour{};  // dollars
  std::optional<double> power_w{};          // of the boards
  std::map<std::string, std::int64_t> available{};
  std::map<std::string, double> prices{};  // dollars per GPU and hour, overriding the profile's
};

/// What one unit of a shape needs.
struct UnitNeeds {
  std::int64_t gpus = 0;
  std::optional<double> cost_per_hour{};
  std::optional<double> power_w{};
};

UnitNeeds needs_of(const Shape& shape, const Gpu& gpu, const PlanLimits& limits);

/// The objective for one unit of the shape. Throws UsageError naming the GPU if its price or power
/// is needed and unknown.
double objective_of(const UnitNeeds& needs, const Shape& shape, PlanObjective objective,
                    const PlanLimits& limits);

/// The maximum number of units within all limits, and the limit that binds.
struct UnitLimit {
  std::int64_t units = 0;
  std::string
      by{};  // "a stock of 4 GPUs", "the budget of $10.00 per hour"; empty: the search's own
};

/// Limits the units to `units`, by what `by` names, unless fewer are allowed already.
void tighten(UnitLimit& limit, std::int64_t units, std::string by);

UnitLimit max_units(const UnitNeeds& needs, const std::string& gpu, const PlanLimits& limits,
                    std::int64_t max);

}  // namespace roofcast
