#include "planner/scenario/level_recording.hpp"

#include "simulator/simulate.hpp"

namespace roofcast {

LevelTimeline levels_of(const SimulationRun& run, const Progress& progress) {
  LevelTimeline levels;
  const PoolStepTimes step_times = step_times_of(run);
  std::vector<const StepTime*> seams;
  for (const RooflineStepTime& step_time : step_times) seams.push_back(&step_time);
  // The fast engine plans many decode steps at once and reports blocks as of the last of them.
  const SimulationResult result = simulate(cluster_of(run.scenario, run.pools, seams), run.workload,
                                           {.max_concurrency = run.scenario.max_concurrency,
                                            .slo = run.scenario.slo,
                                            .engine_kind = EngineKind::plain,
                                            .progress = progress,
                                            .levels = &levels});
  if (result.stopped) throw_interrupted();
  return levels;
}

}  // namespace roofcast
