// Simulates a run once more to record how it went over time.
#pragma once

#include "base/progress.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "simulator/results/level_timeline.hpp"

namespace roofcast {

/// Precondition: the run has no refusal. Simulates the same steps at the same times as in its
/// result. Throws Error if `progress` cancels.
LevelTimeline levels_of(const SimulationRun& run, const Progress& progress = {});

}  // namespace roofcast
