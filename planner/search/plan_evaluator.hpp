// The simulations of a plan as questions and answers in texts, which any thread or process that has
// read the same inputs can answer. Questions end in the plan's digest
// (planner/search/plan_digest.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/search/candidate_figures.hpp"
#include "planner/search/evaluator.hpp"
#include "planner/search/plan_shapes.hpp"

namespace roofcast {

/// "How does it fare": answered by to_text(CandidateFigures).
std::string trial_question(const std::string& digest, std::size_t shape, std::int64_t units);

/// "How sure": answered by to_text(FinalistFigures), without a capacity.
std::string confidence_question(const std::string& digest, std::size_t shape, std::int64_t units);

/// "How sure, and how much more": answered by to_text(FinalistFigures).
std::string finalist_question(const std::string& digest, std::size_t shape, std::int64_t units);

/// Answers them. The arguments outlive it.
Evaluator plan_evaluator(const PlanCatalogue& catalogue, const PlanTask& question,
                         const std::vector<PlannedShape>& shapes);

}  // namespace roofcast
