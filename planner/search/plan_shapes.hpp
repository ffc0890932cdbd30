// The shapes of a plan before anything is simulated: which can run and fit, how many each bound
// asks for and the limits allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/search/bounds.hpp"
#include "planner/search/plan_catalogue.hpp"
#include "planner/search/plan_limits.hpp"
#include "planner/search/search_space.hpp"

namespace roofcast {

struct PlanTask {
  Scenario base{};  // model, load, SLO, seed; what it deploys is replaced
  SearchSpace space{};
  SloRequirement requirement{.must_keep_up = true};
  std::optional<double> min_probability{};  // that what is answered holds; unset: as predicted
  PlanLimits limits{};
  PlanObjective objective = PlanObjective::cost;
  std::int64_t keep = 5;  // placements in the answer
  std::string program{};  // which build answers: another may come to other figures
};

/// What becomes of a shape, in the order in which it is found out.
enum class ShapeOutcome {
  cannot_run,      // the engine or the model refuses the combination
  does_not_fit,    // in memory
  too_slow,        // a promise is missed even unloaded
  beyond_limits,   // more are needed than budget, power, GPUs or the search allow
  searched,        // left to the search:
  more_expensive,  // another does it for less (or for as much, with more to spare)
  misses,          // as many as allowed were simulated and missed the SLO
  ranked,          // in the answer
};

std::string_view name_of(ShapeOutcome outcome);

struct PlannedShape {
  Shape shape{};
  ShapeOutcome outcome = ShapeOutcome::searched;
  std::string why{};  // of the first four outcomes, in words
  UnitNeeds needs{};
  double unit_objective = 0;
  UnitLimit limit{};
  ShapeBound bound{};
};

/// Every shape of the space, not looked at yet: all that an evaluator needs to know of them. Throws
/// as plan_shapes.
std::vector<PlannedShape> unseen_shapes(const PlanCatalogue& catalogue, const PlanTask& question);

/// In the order of shapes_of. `catalogue` was loaded for this space, whose order of GPUs it shares.
/// Uses several threads; nothing when `progress` ended it. Throws UsageError where an objective or
/// a limit is about a price or a power that is not known, Error where no shape can run.
std::optional<std::vector<PlannedShape>> plan_shapes(const PlanCatalogue& catalogue,
                                                     const PlanTask& question, int threads,
                                                     const ProgressFunction& progress);

}  // namespace roofcast
