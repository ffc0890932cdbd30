// The shapes of a plan before any simulation: which can run and fit, and how many units the bounds
// require and the limits allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/search/bounds.hpp"
#include "planner/search/plan_catalogue.hpp"
#include "planner/search/plan_limits.hpp"
#include "planner/search/search_space.hpp"

namespace roofcast {

struct PlanTask {
  Scenario base{};  // model, load, SLO, seed; its deployment is replaced
  SearchSpace space{};
  SloRequirement requirement{};
  std::optional<double> min_probability{};  // of holding, if ranked; unset: as predicted
  bool free_length = false;  // the number of requests is free: as many as a verdict needs
  PlanLimits limits{};
  PlanObjective objective = PlanObjective::cost;
  std::int64_t keep = 5;     // placements in the answer
  bool names_others = true;  // the cheapest of each GPU that is not ranked is searched for, too
  std::string program{};     // the build that answers: another may compute other figures
};

/// The outcome of a shape, in the order in which it is determined.
enum class ShapeOutcome {
  cannot_run,      // the engine or the model refuses the combination
  does_not_fit,    // in memory
  too_slow,        // a target is missed even unloaded
  beyond_limits,   // needs more than budget, power, GPUs or the search allow
  searched,        // left to the search:
  more_expensive,  // another has a lower objective (or an equal one and more margin)
  misses,          // the most units allowed were simulated and missed the SLO
  ranked,          // in the answer
};

std::string_view name_of(ShapeOutcome outcome);

struct PlannedShape {
  Shape shape{};
  ShapeOutcome outcome = ShapeOutcome::searched;
  std::string why{};  // reason for the first four outcomes
  UnitNeeds needs{};
  double unit_objective = 0;
  UnitLimit limit{};
  ShapeBound bound{};
};

/// Every shape of the space, unchecked: all that an evaluator needs. Throws as plan_shapes does.
std::vector<PlannedShape> unseen_shapes(const PlanCatalogue& catalogue, const PlanTask& question);

/// Shapes in the order of shapes_of. `catalogue` was loaded for this space and has its order of
/// GPUs. Uses several threads; returns nullopt if `progress` cancelled. Throws UsageError if an
/// objective or a limit needs a price or power that is known of no shape, Error if no shape can
/// run.
std::optional<std::vector<PlannedShape>> plan_shapes(const PlanCatalogue& catalogue,
                                                     const PlanTask& question, int threads,
                                                     const Progress& progress);

}  // namespace roofcast
