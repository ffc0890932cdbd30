// What a plan finds: the cheapest deployments that hold, what each has to spare, and why the
// others are not among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/evaluations.hpp"
#include "planner/search/plan_evaluator.hpp"
#include "planner/search/search.hpp"

namespace roofcast {

/// A candidate that was simulated.
struct TriedCandidate {
  std::size_t shape = 0;  // of PlanFindings::shapes
  std::int64_t units = 0;
  bool holds = false;  // as probably as the plan asks
  CandidateFigures figures{};
};

struct RankedCandidate : TriedCandidate {
  UnitNeeds needs{};  // of all units
  FinalistFigures finalist{};
  bool pareto = false;  // no other of the ranked has lower cost, more to spare and more capacity
};

/// The loser of a GPU that came nearest, where none of that GPU is ranked: of those simulated that
/// hold the least in the objective, else that of most margin.
struct NearestRejected {
  std::size_t shape = 0;
  std::optional<TriedCandidate> tried{};  // unset: known by its bound alone
};

struct PlanFindings {
  std::vector<PlannedShape> shapes{};       // each with its outcome
  std::vector<RankedCandidate> ranked{};    // the best first; empty: none holds
  std::vector<TriedCandidate> closest{};    // when none is ranked: simulated, the nearest first
  std::vector<NearestRejected> rejected{};  // in order of the search's GPUs; none when stopped
  std::int64_t candidates = 0;              // shapes, each as often as its limits allow
  std::int64_t simulations = 0;             // of the search, and
  std::int64_t finalist_simulations = 0;    // behind probabilities and breaking points
  bool stopped = false;                     // before the end: nothing is ranked or decided
};

/// Searches and asks what is to be known of those in the answer.
PlanFindings make_plan(const PlanTask& question, std::vector<PlannedShape> shapes,
                       Evaluations& evaluations, const ProgressFunction& progress);

}  // namespace roofcast
