// Runs a simulation to its end and states in words what its numbers assume.
#pragma once

#include "base/progress.hpp"
#include "planner/scenario/simulation_run.hpp"

namespace roofcast {

/// Fills in the result, the uncertainty of each pool's steps and the notes.
void simulate_with_notes(SimulationRun& run, const PoolStepTimes& step_times,
                         const Progress& progress);
void simulate_with_notes(SimulationRun& run, const Progress& progress);

}  // namespace roofcast
