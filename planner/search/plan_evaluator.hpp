// The simulations of a plan, with the same result in any thread or process that has read the same
// inputs.
#pragma once

#include <vector>

#include "planner/search/candidate_figures.hpp"
#include "planner/search/evaluator.hpp"
#include "planner/search/plan_shapes.hpp"

namespace roofcast {

/// Answers questions about the shapes by simulating them. The arguments must outlive it. Throws
/// Error once catalogue.stopped says so, so that no figures of a simulation cut short are kept.
/// `threads` is that of the evaluations that ask it: a candidate's independent searches then run
/// side by side (planner/side_by_side.hpp), with the same answer.
Evaluator plan_evaluator(const PlanCatalogue& catalogue, const PlanTask& task,
                         const std::vector<PlannedShape>& shapes, int threads = 1);

/// The same for any run of the catalogue's load, as of pools that differ: simulated until the
/// verdict stands, judged, and with the probability that the task asks for. Both throw Error if
/// run.stopped ended a simulation.
CandidateFigures trial_figures_of(SimulationRun run, const PlanCatalogue& catalogue,
                                  const PlanTask& task, int threads = 1);
FinalistFigures finalist_figures_of(SimulationRun run, const PlanCatalogue& catalogue,
                                    const SloRequirement& requirement, int threads = 1);

}  // namespace roofcast
