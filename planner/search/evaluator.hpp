// What answers the questions of a plan, and an answer on its way back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "planner/search/candidate_figures.hpp"

namespace roofcast {

/// Answers a question: the same in every process that has read the same inputs. Called from several
/// threads at once.
using Evaluator = std::function<Figures(const FigureQuestion& question)>;

/// An evaluation that came to its end.
struct FinishedEvaluation {
  std::int64_t id = 0;  // as it was begun under
  Figures figures{};
  bool failed = false;    // the evaluator threw,
  std::string failure{};  // namely this
};

/// What `evaluate` answers or throws.
FinishedEvaluation evaluated(const Evaluator& evaluate, std::int64_t id,
                             const FigureQuestion& question);

}  // namespace roofcast
