#include "cli/run_simulation.hpp"

#include <utility>

#include "cli/step_description.hpp"
#include "model/error.hpp"
#include "model/step_estimate.hpp"
#include "reports/numbers.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {
namespace {

/// What the numbers rest on and leave out, for the user to read.
std::vector<std::string> notes_on(const Deployment& deployment, const MemoryPlan& plan) {
  const RooflineStepTime step_time(deployment);
  const StepEstimate step =
      step_time.explain(decode_batch(deployment.model, 32, deployment.engine.max_model_len / 4));
  std::vector<std::string> notes;
  notes.push_back("step times from the roofline with " + describe_rungs(step) + ": ±" +
                  as_percent(step.relative_uncertainty, 0) + " (one standard deviation)");
  notes.push_back("KV capacity ±" + as_percent(plan.relative_uncertainty));
  if (deployment.engine.prefix_caching)
    notes.push_back("no prompts share a prefix in this workload");
  if (deployment.parallel.pipeline > 1) {
    notes.emplace_back("pipeline stages run one batch at a time: throughput is a lower bound");
  }
  for (const std::string& note : deployment.model.notes) notes.push_back(note);
  return notes;
}

}  // namespace

DeploymentOptions deployment_options(const Scenario& scenario) {
  return {.model = scenario.model,
          .gpu = scenario.gpu,
          .engine = scenario.engine,
          .weight_format = scenario.weight_format,
          .parallel = scenario.parallel,
          .overrides = scenario.overrides};
}

SimulationRun run_simulation(const Scenario& scenario,
                             const std::function<bool(std::int64_t, std::int64_t)>& progress) {
  SimulationRun run;
  run.scenario = scenario;
  ResolvedDeployment resolved = resolve(deployment_options(scenario));
  run.deployment = std::move(resolved.deployment);
  run.profile_hash = std::move(resolved.profile_hash);
  run.plan = plan_memory(run.deployment);
  if (!run.plan.fits) {
    throw Error(run.deployment.model.name + " does not fit on " + run.deployment.gpu.display_name +
                ": " + run.plan.reason + " (roofcast memory shows what would make it fit)");
  }
  run.workload = load_workload(scenario);
  if (scenario.parallel.data > 1)
    throw Error(
        "simulate models one data-parallel rank: use --dp 1 and a rank's share of the load");
  const RooflineStepTime step_time(run.deployment);
  const Replica replica{.engine = run.deployment.engine,
                        .layout = run.plan.layout,
                        .kv_blocks = run.plan.kv_blocks,
                        .step_time = &step_time};
  run.result = simulate(
      replica, run.workload,
      {.max_concurrency = scenario.max_concurrency, .slo = scenario.slo, .progress = progress});
  run.notes = notes_on(run.deployment, run.plan);
  return run;
}

}  // namespace roofcast
