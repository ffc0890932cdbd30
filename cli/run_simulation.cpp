#include "cli/run_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
  const auto running = static_cast<std::int64_t>(std::llround(run.result.use.mean_running));
  return decode_batch(run.deployment.model, std::max<std::int64_t>(1, running), tokens / requests);
}

/// What the numbers rest on and leave out, for the user to read.
std::vector<std::string> notes_on(const SimulationRun& run, const RooflineStepTime& step_time) {
  const StepEstimate step = step_time.explain(typical_step(run));
  std::vector<std::string> notes;
  notes.push_back(fmt::format("step times: roofline, {}; ±{} (one standard deviation)",
                              describe_rungs(step), as_percent(step.relative_uncertainty, 0)));
  notes.push_back(fmt::format("KV capacity: ±{}", as_percent(run.plan.relative_uncertainty)));
  if (run.deployment.engine.prefix_caching) {
    notes.emplace_back("prefix caching: no two prompts of this workload share a prefix");
  }
  if (run.deployment.parallel.pipeline > 1) {
    notes.emplace_back("pipeline stages run one batch at a time: throughput is a lower bound");
  }
  notes.insert(notes.end(), run.deployment.model.notes.begin(), run.deployment.model.notes.end());
  return notes;
}

}  // namespace

DeploymentOptions deployment_options(const Scenario& scenario) {
  return {.model = scenario.model,
          .gpu = scenario.gpu,
          .engine = scenario.engine,
          .weight_format = scenario.weight_format,
          .parallel = {.tensor = scenario.parallel.tensor,
                       .pipeline = scenario.parallel.pipeline,
                       .data = scenario.parallel.data,
                       .expert_parallel = scenario.parallel.expert_parallel},
          .overrides = scenario.overrides};
}

SimulationRun prepare_simulation(const Scenario& scenario) {
  SimulationRun run;
  run.scenario = scenario;
  ResolvedDeployment resolved = resolve(deployment_options(scenario));
  run.deployment = std::move(resolved.deployment);
  run.profile_hash = std::move(resolved.profile_hash);
  if (scenario.parallel.data > 1) {
    throw Error(
        "simulate models one data-parallel rank; use --dp 1 and one rank's share of the load");
  }
  run.plan = plan_memory(run.deployment);
  if (!run.plan.fits) {
    throw Error(run.deployment.model.name + " does not fit on " + run.deployment.gpu.display_name +
                ": " + run.plan.reason + " (roofcast memory shows what would make it fit)");
  }
  run.workload = load_workload(scenario);
  return run;
}

void run_simulation(SimulationRun& run, const ProgressFunction& progress) {
  const RooflineStepTime step_time(run.deployment);
  // Only vLLM counts its null block among them.
  const bool has_null_block = run.deployment.engine.memory_rule == MemoryRule::vllm;
  const Replica replica{.engine = run.deployment.engine,
                        .layout = run.plan.layout,
                        .kv_blocks = run.plan.kv_blocks + (has_null_block ? 0 : 1),
                        .step_time = &step_time,
                        .seed = run.scenario.seed};
  run.result = simulate(replica, run.workload,
                        {.max_concurrency = run.scenario.max_concurrency,
                         .slo = run.scenario.slo,
                         .progress = progress});
  run.notes = notes_on(run, step_time);
}

}  // namespace roofcast
