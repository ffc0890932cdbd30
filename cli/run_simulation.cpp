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
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

/// A replica of the pool by its mean number of running requests.
double mean_running(const SimulationRun& run, const PoolRun& pool) {
  if (run.result.replicas.empty()) return run.result.use.mean_running;
  double sum = 0;
  double replicas = 0;
  for (const ReplicaResult& replica : run.result.replicas) {
    if (replica.pool != pool.name) continue;
    sum += replica.use.mean_running;
    ++replicas;
  }
  return sum / std::max(1.0, replicas);
}

/// The step that a pool's engines ran most of the time: a decode of their mean batch at the
/// workload's mean context; where they compute prompts alone, one mean prompt.
StepBatch typical_step(const SimulationRun& run, const PoolRun& pool) {
  std::int64_t inputs = 0;
  std::int64_t contexts = 0;
  for (const Request& request : run.workload.requests) {
    inputs += request.input_tokens;
    contexts += request.input_tokens + request.output_tokens / 2;
  }
  const auto requests = static_cast<std::int64_t>(run.workload.requests.size());
  if (pool.role == PoolRole::prefill) return prefill_batch(1, inputs / requests);
  const auto running = static_cast<std::int64_t>(
      std::llround(mean_running(run, pool) / pool.deployment.parallel.data));
  return decode_batch(pool.deployment.model, std::max<std::int64_t>(1, running),
                      contexts / requests);
}

/// What the numbers of one pool rest on; it is named when there are several.
void note_precision(std::vector<std::string>& notes, const SimulationRun& run, const PoolRun& pool,
                    const RooflineStepTime& step_time) {
  const std::string whose = run.pools.size() > 1 ? "pool " + pool.name + ": " : "";
  const StepEstimate step = step_time.explain(typical_step(run, pool));
  const char* source = pool.deployment.gpu.measured ? "calibrated profile" : "roofline";
  notes.push_back(fmt::format("{}step times: {}, {}; ±{} (one standard deviation)", whose, source,
                              describe_rungs(step), as_percent(step.relative_uncertainty, 0)));
  notes.push_back(
      fmt::format("{}KV capacity: ±{}", whose, as_percent(pool.plan.relative_uncertainty)));
}

/// What the numbers rest on and leave out, for the user to read.
std::vector<std::string> notes_on(const SimulationRun& run,
                                  const std::deque<RooflineStepTime>& step_times) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    note_precision(notes, run, run.pools[i], step_times[i]);
  }
  const auto caches = [](const PoolRun& pool) { return pool.deployment.engine.prefix_caching; };
  const auto staged = [](const PoolRun& pool) { return pool.deployment.parallel.pipeline > 1; };
  if (run.workload.contents.empty() && std::any_of(run.pools.begin(), run.pools.end(), caches)) {
    notes.emplace_back("prefix caching: no two prompts of this workload share a prefix");
  }
  if (std::any_of(run.pools.begin(), run.pools.end(), staged)) {
    notes.emplace_back("pipeline stages run one batch at a time: throughput is a lower bound");
  }
  const std::vector<std::string> of_cluster = notes_on_cluster(run.scenario, run.pools);
  notes.insert(notes.end(), of_cluster.begin(), of_cluster.end());
  const std::vector<std::string>& of_model = run.pools.front().deployment.model.notes;
  notes.insert(notes.end(), of_model.begin(), of_model.end());
  return notes;
}

std::int64_t adapters_of(const Scenario& scenario) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  return synthetic == nullptr ? 0 : synthetic->lora.count;
}

/// Adapters are simulated for vLLM; what describes them changes nothing where no request has one.
void check_adapters(const Scenario& scenario, const PoolScenario& pool, const Engine& engine) {
  if (adapters_of(scenario) > 0) {
    if (engine.scheduler == SchedulerKind::vllm_v1) return;
    throw UsageError(
        fmt::format("lora_adapters: given for {}, expected one of the vLLM engines", engine.name));
  }
  const EngineOverrides overrides = pool.overrides.value_or(scenario.overrides);
  const char* knob = overrides.max_loras           ? "max_loras"
                     : overrides.lora_step_time    ? "lora_step_time"
                     : overrides.lora_adapter_time ? "lora_adapter_time"
                                                   : nullptr;
  if (knob != nullptr) throw UsageError(fmt::format("{}: given without lora_adapters", knob));
}

/// A closed loop is replayed as one, unless the user sets another limit.
void take_recorded_limit(SimulationRun& run) {
  if (!run.workload.max_concurrency || run.scenario.max_concurrency) return;
  run.scenario.max_concurrency = run.workload.max_concurrency;
  run.workload.notes.push_back(
      fmt::format("at most {} in flight, as in the recorded run (--max-concurrency sets another "
                  "limit)",
                  counted(*run.workload.max_concurrency, "request")));
}

PoolRun prepare_pool(const Scenario& scenario, const PoolScenario& pool) {
  ResolvedDeployment resolved = resolve(deployment_options(scenario, pool));
  check_adapters(scenario, pool, resolved.deployment.engine);
  MemoryPlan plan = plan_memory(resolved.deployment);
  return {.name = pool.name,
          .role = pool.role,
          .replicas = pool.replicas,
          .deployment = std::move(resolved.deployment),
          .profile_hash = std::move(resolved.profile_hash),
          .plan = std::move(plan)};
}

}  // namespace

SimulationRun prepare_simulation(const Scenario& scenario) {
  SimulationRun run;
  run.scenario = scenario;
  run.pools.clear();
  for (const PoolScenario& pool : pools_of(scenario)) {
    run.pools.push_back(prepare_pool(scenario, pool));
  }
  for (const PoolRun& pool : run.pools) {
    if (pool.plan.fits) continue;
    run.refusal = fmt::format("{} does not fit on {}: {}", pool.deployment.model.name,
                              pool.deployment.gpu.display_name, pool.plan.reason);
    return run;
  }
  run.workload = load_workload(scenario);
  take_recorded_limit(run);
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
  run.notes = notes_on(run, step_times);
}

}  // namespace roofcast
