// A simulated deployment as figures: latencies of users, and the engines' load over time.
#pragma once

#include <vector>

#include "planner/scenario/simulation_run.hpp"
#include "reports/figures/figure.hpp"
#include "simulator/results/level_timeline.hpp"

namespace roofcast {

/// TTFT, TPOT and E2E as cumulative shares of finished requests, with the limits of the SLO; by
/// class if there are classes. Empty if nothing finished.
std::vector<Figure> simulation_figures(const SimulationRun& run);

/// Running and waiting requests and KV cache use over time (planner/scenario/level_recording.hpp).
std::vector<Figure> timeline_figures(const LevelTimeline& timeline);

}  // namespace roofcast
