// Evaluates the questions of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "planner/search/candidate_figures.hpp"

namespace roofcast {

/// Answers a question, with the same result in every process that has read the same inputs. Called
/// from several threads at once.
using Evaluator = std::function<Figures(const FigureQuestion& question)>;

/// A finished evaluation.
struct FinishedEvaluation {
  std::int64_t id = 0;  // the id passed to begin()
  Figures figures{};
  bool failed = false;    // the evaluator threw
  std::string failure{};  // its message
};

/// Calls `evaluate` and catches what it throws.
FinishedEvaluation evaluated(const Evaluator& evaluate, std::int64_t id,
                             const FigureQuestion& question);

}  // namespace roofcast
