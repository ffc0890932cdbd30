// The result of a plan: the cheapest deployments that hold, their spare capacity, and why the
// others were rejected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/search/evaluations.hpp"
#include "planner/search/plan_evaluator.hpp"
#include "planner/search/search.hpp"

namespace roofcast {

/// A candidate that was simulated.
struct TriedCandidate {
  std::size_t shape = 0;  // index into PlanFindings::shapes
  std::int64_t units = 0;
  bool holds = false;  // with at least the probability asked for
  CandidateFigures figures{};
};

struct RankedCandidate : TriedCandidate {
  UnitNeeds needs{};  // of all units
  FinalistFigures finalist{};
  bool pareto = false;  // no other ranked one costs less, has more SLO margin and carries more
};

/// The rejected candidate of a GPU that came nearest, if none of that GPU is ranked: among the
/// simulated, the one that holds with the least objective, else the one with the greatest margin.
struct NearestRejected {
  std::size_t shape = 0;
  std::optional<TriedCandidate> tried{};  // unset: only bounded
};

struct PlanFindings {
  std::vector<PlannedShape> shapes{};     // each with its outcome
  std::vector<RankedCandidate> ranked{};  // best first; empty: none holds
  /// The least objective among those simulated that hold as predicted, if a probability is asked
  /// for and that is less than what has it.
  std::optional<RankedCandidate> point_estimate{};
  std::vector<TriedCandidate> closest{};  // if none is ranked: simulated candidates, nearest first
  std::vector<NearestRejected> rejected{};  // in the order of the search's GPUs; empty when stopped
  /// That the best ranked holds and nothing that was simulated and needs kGoodChoice less does
  /// (planner/verdict/choice_confidence.hpp); unset: nothing is ranked.
  std::optional<double> choice_probability{};
  std::int64_t candidates = 0;            // shapes times allowed unit counts
  std::int64_t simulations = 0;           // in the search
  std::int64_t finalist_simulations = 0;  // for probabilities and breaking points
  bool stopped = false;                   // cancelled: nothing is ranked or decided
};

/// Searches, then evaluates the candidates in the answer.
PlanFindings make_plan(const PlanTask& question, std::vector<PlannedShape> shapes,
                       Evaluations& evaluations, const Progress& progress);

}  // namespace roofcast
