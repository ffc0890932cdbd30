// Runs a simulation to its end and states in words what its numbers assume.
#pragma once

#include "planner/scenario_run.hpp"

namespace roofcast {

/// Fills in the result, the uncertainty of each pool's steps and the notes.
void run_simulation(SimulationRun& run, const PoolStepTimes& step_times,
                    const ProgressFunction& progress);
void run_simulation(SimulationRun& run, const ProgressFunction& progress);

}  // namespace roofcast
