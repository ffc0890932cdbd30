// The simulations of a plan, with the same result in any thread or process that has read the same
// inputs.
#pragma once

#include <vector>

#include "planner/search/candidate_figures.hpp"
#include "planner/search/evaluator.hpp"
#include "planner/search/plan_shapes.hpp"

namespace roofcast {

/// Answers questions about the shapes by simulating them. The arguments must outlive it.
Evaluator plan_evaluator(const PlanCatalogue& catalogue, const PlanTask& task,
                         const std::vector<PlannedShape>& shapes);

}  // namespace roofcast
