// What the users of a simulated deployment felt, and what its engines did meanwhile, as figures.
#pragma once

#include <vector>

#include "planner/scenario_run.hpp"
#include "reports/figures/figure.hpp"
#include "simulator/results/level_timeline.hpp"

namespace roofcast {

/// TTFT, TPOT and E2E of a run with a result, as shares of its finished requests by time, with the
/// limits of its SLO; by class where it has classes. None where nothing finished.
std::vector<Figure> simulation_figures(const SimulationRun& run);

/// Requests running and waiting, and the KV cache, over time
/// (planner/capacity/level_recording.hpp).
std::vector<Figure> timeline_figures(const LevelTimeline& timeline);

}  // namespace roofcast
