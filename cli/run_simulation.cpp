#include "cli/run_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "cli/cluster_of_scenario.hpp"
#include "cli/step_description.hpp"
#include "model/error.hpp"
#include "model/step_estimate.hpp"
#include "reports/numbers.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {
namespace {

/// The step that the engine ran most of the time: its mean batch at the workload's mean context.
StepBatch typical_step(const SimulationRun& run) {
  std::int64_t tokens = 0;
  for (const Request& request : run.workload.requests) {
    tokens += request.input_tokens + request.output_tokens / 2;
  }
  const auto requests = static_cast<std::int64_t>(run.workload.requests.size());
  const auto replicas = std::max<std::int64_t>(1, std::ssize(run.result.replicas));
  const auto engines = static_cast<double>(replicas * run.deployment.parallel.data);
  const auto running =
      static_cast<std::int64_t>(std::llround(run.result.use.mean_running / engines));
  return decode_batch(run.deployment.model, std::max<std::int64_t>(1, running), tokens / requests);
}

/// What the numbers rest on and leave out, for the user to read.
std::vector<std::string> notes_on(const SimulationRun& run, const RooflineStepTime& step_time) {
  const StepEstimate step = step_time.explain(typical_step(run));
  std::vector<std::string> notes;
  notes.push_back(fmt::format("step times: roofline, {}; ±{} (one standard deviation)",
                              describe_rungs(step), as_percent(step.relative_uncertainty, 0)));
  notes.push_back(fmt::format("KV capacity: ±{}", as_percent(run.plan.relative_uncertainty)));
  if (run.deployment.engine.prefix_caching && run.workload.contents.empty()) {
    notes.emplace_back("prefix caching: no two prompts of this workload share a prefix");
  }
  if (run.deployment.parallel.pipeline > 1) {
    notes.emplace_back("pipeline stages run one batch at a time: throughput is a lower bound");
  }
  const std::vector<std::string> of_cluster = notes_on_cluster(run.scenario, run.pools);
  notes.insert(notes.end(), of_cluster.begin(), of_cluster.end());
  notes.insert(notes.end(), run.deployment.model.notes.begin(), run.deployment.model.notes.end());
  return notes;
}

}  // namespace

DeploymentOptions deployment_options(const Scenario& scenario) {
  return deployment_options(scenario, PoolScenario{});
}

SimulationRun prepare_simulation(const Scenario& scenario) {
  SimulationRun run;
  run.scenario = scenario;
  for (const PoolScenario& pool : pools_of(scenario)) {
    ResolvedDeployment resolved = resolve(deployment_options(scenario, pool));
    if (run.pools.empty()) run.profile_hash = std::move(resolved.profile_hash);
    MemoryPlan plan = plan_memory(resolved.deployment);
    if (!plan.fits) {
      throw Error(fmt::format(
          "{} does not fit on {}: {} (roofcast memory shows what would make it fit)",
          resolved.deployment.model.name, resolved.deployment.gpu.display_name, plan.reason));
    }
    run.pools.push_back({pool.name, std::move(resolved.deployment), std::move(plan)});
  }
  run.deployment = run.pools.front().deployment;
  run.plan = run.pools.front().plan;
  run.workload = load_workload(scenario);
  return run;
}

void run_simulation(SimulationRun& run, const ProgressFunction& progress) {
  std::deque<RooflineStepTime> step_times;
  std::vector<const StepTime*> seams;
  for (const PoolRun& pool : run.pools) {
    seams.push_back(&step_times.emplace_back(pool.deployment));
  }
  run.result = simulate(cluster_of(run.scenario, run.pools, seams), run.workload,
                        {.max_concurrency = run.scenario.max_concurrency,
                         .slo = run.scenario.slo,
                         .progress = progress});
  run.notes = notes_on(run, step_times.front());
}

}  // namespace roofcast
