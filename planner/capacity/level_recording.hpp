// A run simulated once more, for how it went over time.
#pragma once

#include "planner/scenario_run.hpp"
#include "simulator/results/level_timeline.hpp"

namespace roofcast {

/// Of a run without refusal: the same steps at the same times as in its result. Throws Error once
/// `progress` ends it.
LevelTimeline levels_of(const SimulationRun& run, const ProgressFunction& progress = {});

}  // namespace roofcast
