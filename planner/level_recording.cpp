#include "planner/level_recording.hpp"

#include "simulator/simulate.hpp"

namespace roofcast {

LevelTimeline levels_of(const SimulationRun& run) {
  LevelTimeline levels;
  const PoolStepTimes step_times = step_times_of(run);
  std::vector<const StepTime*> seams;
  for (const RooflineStepTime& step_time : step_times) seams.push_back(&step_time);
  simulate(cluster_of(run.scenario, run.pools, seams), run.workload,
           {.max_concurrency = run.scenario.max_concurrency,
            .slo = run.scenario.slo,
            .levels = &levels});
  return levels;
}

}  // namespace roofcast
