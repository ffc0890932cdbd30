// The simulations of a plan as questions and answers in texts, which any thread or process that has
// read the same inputs can answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/candidate_figures.hpp"
#include "planner/evaluator.hpp"
#include "planner/plan_shapes.hpp"

namespace roofcast {

/// Of everything that an answer depends on: load, model, profiles, shapes, what is required. Two
/// plans with one digest have the same questions and answers.
std::string plan_digest(const PlanCatalogue& catalogue, const PlanQuestion& question,
                        const std::vector<PlannedShape>& shapes);

/// "How does it fare": answered by to_text(CandidateFigures).
std::string trial_question(const std::string& digest, std::size_t shape, std::int64_t units);

/// "How sure": answered by to_text(FinalistFigures), without a capacity.
std::string confidence_question(const std::string& digest, std::size_t shape, std::int64_t units);

/// "How sure, and how much more": answered by to_text(FinalistFigures).
std::string finalist_question(const std::string& digest, std::size_t shape, std::int64_t units);

/// Answers them. The arguments outlive it.
Evaluator plan_evaluator(const PlanCatalogue& catalogue, const PlanQuestion& question,
                         const std::vector<PlannedShape>& shapes);

}  // namespace roofcast
