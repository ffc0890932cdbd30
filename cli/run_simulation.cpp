#include "cli/run_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <span>
#include <utility>

#include "cli/cluster_of_scenario.hpp"
#include "cli/step_description.hpp"
#include "model/error.hpp"
#include "model/sampled_steps.hpp"
#include "model/scaled_step_time.hpp"
#include "reports/numbers.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/simulate.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

/// The steps that a pool's engines ran, in a sample, as one.
StepEstimate steps_of(const SampledSteps& sampled, const RooflineStepTime& step_time) {
  std::vector<StepEstimate> steps;
  for (const StepBatch& batch : sampled.sample()) steps.push_back(step_time.explain(batch));
  return sum_of(steps);
}

/// What the numbers of one pool rest on; it is named when there are several.
void note_precision(std::vector<std::string>& notes, const SimulationRun& run, const PoolRun& pool,
                    const StepEstimate& steps) {
  const std::string whose = run.pools.size() > 1 ? "pool " + pool.name + ": " : "";
  const char* source = pool.deployment.gpu.measured ? "calibrated profile" : "roofline";
  if (steps.total.value > 0) {  // or nothing was served
    notes.push_back(fmt::format("{}step times: {}, {}; ±{} (one standard deviation)", whose, source,
                                describe_rungs(steps), as_percent(steps.relative_uncertainty, 0)));
  }
  notes.push_back(
      fmt::format("{}KV capacity: ±{}", whose, as_percent(pool.plan.relative_uncertainty)));
}

/// What the numbers rest on and leave out, for the user to read.
std::vector<std::string> notes_on(const SimulationRun& run,
                                  const std::vector<StepEstimate>& steps) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    note_precision(notes, run, run.pools[i], steps[i]);
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

SimulationResult simulate_on(const SimulationRun& run, std::span<const PoolRun> pools,
                             std::span<const StepTime* const> step_times,
                             const ProgressFunction& progress) {
  return simulate(cluster_of(run.scenario, pools, step_times), run.workload,
                  {.max_concurrency = run.scenario.max_concurrency,
                   .slo = run.scenario.slo,
                   .progress = progress});
}

/// A figure's own factor at so many standard deviations: its logarithm is taken as normal, so that
/// no time falls below zero; for a small uncertainty this is 1 + deviations * uncertainty.
double factor_of(double deviations, double relative_uncertainty) {
  return std::exp(deviations * relative_uncertainty);
}

}  // namespace

SimulationRun prepare_simulation(const Scenario& scenario,
                                 const std::optional<Workload>& recorded) {
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
  run.workload = recorded ? *recorded : load_workload(scenario);
  take_recorded_limit(run);
  return run;
}

PoolStepTimes step_times_of(const SimulationRun& run) {
  PoolStepTimes step_times;
  for (const PoolRun& pool : run.pools) step_times.emplace_back(pool.deployment);
  return step_times;
}

void run_simulation(SimulationRun& run, const PoolStepTimes& step_times,
                    const ProgressFunction& progress) {
  std::deque<SampledSteps> sampled;
  std::vector<const StepTime*> seams;
  for (const RooflineStepTime& step_time : step_times) {
    seams.push_back(&sampled.emplace_back(step_time));
  }
  run.result = simulate_on(run, run.pools, seams, progress);
  std::vector<StepEstimate> steps;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    steps.push_back(steps_of(sampled[i], step_times[i]));
    run.pools[i].step_uncertainty = steps.back().relative_uncertainty;
  }
  run.notes = notes_on(run, steps);
}

void run_simulation(SimulationRun& run, const ProgressFunction& progress) {
  run_simulation(run, step_times_of(run), progress);
}

SimulationResult simulate_deviating(const SimulationRun& run, const PoolStepTimes& step_times,
                                    const Deviations& deviations,
                                    const ProgressFunction& progress) {
  std::vector<PoolRun> pools = run.pools;
  std::deque<ScaledStepTime> scaled;
  std::vector<const StepTime*> seams;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    PoolRun& pool = pools[i];
    const double slower = factor_of(deviations.step_time, pool.step_uncertainty);
    seams.push_back(&scaled.emplace_back(step_times[i], slower));
    HostOverhead& host = pool.deployment.engine.host;
    host.per_request = host.per_request * factor_of(deviations.per_request, kHostUncertainty);
    const double more = factor_of(deviations.kv_capacity, pool.plan.relative_uncertainty);
    pool.plan.kv_blocks = std::llround(static_cast<double>(pool.plan.kv_blocks) * more);
  }
  return simulate_on(run, pools, seams, progress);
}

}  // namespace roofcast
