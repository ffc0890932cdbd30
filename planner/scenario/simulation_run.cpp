#include "planner/scenario/simulation_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "model/architecture/experts.hpp"
#include "model/architecture/transformer.hpp"
#include "model/engines/knobs.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/error_causes.hpp"
#include "model/step/scaled_step_time.hpp"
#include "planner/scenario/late_first_tokens.hpp"
#include "planner/scenario/prices.hpp"
#include "planner/scenario/step_census.hpp"
#include "simulator/engine/admission.hpp"
#include "simulator/engine/batching_policy.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {
namespace {

std::int64_t adapters_of(const Scenario& scenario) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  return synthetic == nullptr ? 0 : synthetic->lora.count;
}

/// Their settings have no effect if no request uses one.
void check_adapters(const Scenario& scenario, const PoolScenario& pool, const Engine& engine) {
  if (adapters_of(scenario) > 0) {
    if (make_policy(engine)->runs_adapters()) return;
    throw UsageError(fmt::format("`lora_adapters`: given for {}, expected one of the vLLM engines",
                                 engine.name));
  }
  const EngineOverrides overrides = deployment_options(scenario, pool).overrides;
  const char* knob = overrides.max_loras           ? "max_loras"
                     : overrides.lora_step_time    ? "lora_step_time"
                     : overrides.lora_adapter_time ? "lora_adapter_time"
                                                   : nullptr;
  if (knob != nullptr) throw UsageError(fmt::format("`{}`: requires `lora_adapters`", knob));
}

void check_images(const Scenario& scenario, const Deployment& deployment) {
  const Transformer& model = deployment.model;
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  if (synthetic == nullptr || synthetic->images.count == 0) return;
  const std::int64_t limit = deployment.engine.images_per_prompt;
  if (synthetic->images.count > limit) {
    throw UsageError(fmt::format("`images`: {} given, more than `limit_mm_per_prompt` allows ({})",
                                 synthetic->images.count, limit));
  }
  if (model.vision.patches_per_token > 0) return;
  throw UsageError(fmt::format("`images`: given for {}, {}", model.name,
                               model.has_vision ? "the shape of whose vision encoder is not known"
                                                : "which has no vision encoder"));
}

bool is_pooled(const SimulationRun& run) {
  return std::ranges::any_of(run.pools,
                             [](const PoolRun& pool) { return pool.deployment.engine.pooling; });
}

/// A model that pools generates nothing: a request's single output is its vector.
void check_pooling(const SimulationRun& run) {
  if (!is_pooled(run)) return;
  for (const Request& request : run.workload.requests) {
    if (request.output_tokens == 1) continue;
    throw UsageError(
        fmt::format("`output_len`: a request has {} output tokens, but `pooling` generates "
                    "nothing; expected 1, "
                    "the vector",
                    request.output_tokens));
  }
}

/// A closed loop is replayed as such, unless the user sets another limit.
void take_recorded_limit(SimulationRun& run) {
  if (!run.workload.recorded_limit || run.scenario.max_concurrency) return;
  run.scenario.max_concurrency = run.workload.recorded_limit;
  run.workload.notes.push_back(
      fmt::format("at most {} in flight, as in the recorded run (`max_concurrency` overrides it)",
                  counted(*run.workload.recorded_limit, "request")));
}

PoolRun prepare_pool(const Scenario& scenario, const PoolScenario& pool) {
  const DeploymentOptions options = deployment_options(scenario, pool);
  ResolvedDeployment resolved = resolve_as_started(options);
  take_price(resolved.deployment.gpu, options.gpu, scenario.pricing);
  check_adapters(scenario, pool, resolved.deployment.engine);
  check_images(scenario, resolved.deployment);
  MemoryPlan plan = plan_memory(resolved.deployment);
  return {.name = pool.name,
          .role = pool.role,
          .replicas = pool.replicas,
          .deployment = std::move(resolved.deployment),
          .profile_hash = std::move(resolved.profile_hash),
          .plan = std::move(plan)};
}

Replica replica_of(const Deployment& deployment, const MemoryPlan& plan,
                   const StepTime* step_time) {
  Replica replica{.engine = deployment.engine,
                  .layout = plan.layout,
                  // The simulator's blocks include a null block, as vLLM's do.
                  .kv_blocks = plan.kv_blocks + 1 - deployment.engine.memory.null_blocks,
                  .step_time = step_time};
  if (plan.max_running) {
    replica.engine.max_num_seqs = std::min(replica.engine.max_num_seqs, *plan.max_running);
  }
  return replica;
}

Pool pool_of(const PoolScenario& asked, const PoolRun& run, const StepTime* step_time) {
  Pool pool{.name = asked.name, .role = asked.role, .replicas = asked.replicas};
  pool.replica = replica_of(run.deployment, run.plan, step_time);
  pool.ranks = run.deployment.parallel.data;
  pool.lockstep = steps_in_lockstep(asked, run.deployment.model);
  pool.rank_router.policy =
      asked.rank_router.value_or(default_rank_router(run.deployment.engine.scheduler));
  pool.autoscaling = asked.autoscaling;
  pool.route = asked.route;
  return pool;
}

SimulationResult simulate_on(const SimulationRun& run, std::span<const PoolRun> pools,
                             std::span<const StepTime* const> step_times, const Progress& progress,
                             double first_token_factor = 1) {
  return simulate(cluster_of(run.scenario, pools, step_times), run.workload,
                  {.max_concurrency = run.scenario.max_concurrency,
                   .slo = run.scenario.slo,
                   .progress = ended_by(run, progress),
                   .first_token_factor = first_token_factor});
}

/// The factor for a number of standard deviations. The logarithm is taken as normal so that no time
/// becomes negative; for a small uncertainty this is 1 + deviations * uncertainty.
double factor_of(double deviations, double relative_uncertainty) {
  return std::exp(deviations * relative_uncertainty);
}

/// Mean number of steps that a pool's engines have in progress while they are busy: more than 1
/// only with pipeline stages.
double steps_at_once(const SimulationResult& result, const PoolRun& pool) {
  if (pool.deployment.parallel.pipeline == 1) return 1;
  if (result.replicas.empty()) return result.use.steps_at_once;
  double steps = 0;
  double busy = 0;
  for (const ReplicaResult& replica : result.replicas) {
    if (replica.pool != pool.name) continue;
    const double time = replica.use.busy_share * replica.paid.value;
    steps += replica.use.steps_at_once * time;
    busy += time;
  }
  return busy > 0 ? steps / busy : 1;
}

/// What so many replicas keep in a node's host memory.
Bytes host_memory_of(const Deployment& deployment, const MemoryPlan& plan, std::int32_t replicas) {
  const std::int32_t others = (replicas - 1) * deployment.parallel.gpus();
  return plan.host_memory + plan.host_cache * static_cast<double>(others);
}

/// A node's free host memory must hold what its ranks keep there: those of as many replicas as it
/// has GPUs for. (plan_memory compares that of one replica.)
std::string host_memory_refusal(const PoolRun& pool) {
  const Deployment& deployment = pool.deployment;
  const Bytes free = deployment.engine.host_memory;
  const std::int32_t gpus = deployment.parallel.gpus();
  const std::int32_t on_node = std::min(pool.replicas, deployment.gpu.gpus_per_node / gpus);
  const auto most = most_replicas_in_host_memory(deployment, pool.plan);
  if (!most || on_node <= *most) return {};
  const Bytes needed = host_memory_of(deployment, pool.plan, on_node);
  return fmt::format(
      "K and V in host memory need {:.1f} GiB of a node, which has {} replicas of {} x {:.1f} GiB; "
      "{:.1f} GiB are free",
      to_gib(needed), on_node, gpus, to_gib(pool.plan.host_cache), to_gib(free));
}

}  // namespace

std::optional<std::int32_t> most_replicas_in_host_memory(const Deployment& deployment,
                                                         const MemoryPlan& plan) {
  const std::int32_t on_node = deployment.gpu.gpus_per_node / deployment.parallel.gpus();
  const Bytes free = deployment.engine.host_memory;
  if (free.value <= 0) return std::nullopt;
  for (std::int32_t replicas = 2; replicas <= on_node; ++replicas) {
    if (host_memory_of(deployment, plan, replicas) > free) return replicas - 1;
  }
  return std::nullopt;
}

std::vector<PoolScenario> pools_of(const Scenario& scenario) {
  if (scenario.cluster && !scenario.cluster->pools.empty()) return scenario.cluster->pools;
  return {PoolScenario{}};
}

DeploymentOptions deployment_options(const Scenario& scenario, const PoolScenario& pool) {
  DeploymentOptions options = scenario.deployment;
  if (!first_given(pool.own.parallel).empty()) options.parallel = {};
  if (first_given(pool.own.overrides) != nullptr) options.overrides = {};
  lay_over(options, pool.own);
  return options;
}

bool steps_in_lockstep(const PoolScenario& pool, const Transformer& model) {
  return pool.lockstep.value_or(has_experts(model));
}

Cluster cluster_of(const Scenario& scenario, std::span<const PoolRun> pools,
                   std::span<const StepTime* const> step_times) {
  const ClusterScenario asked = scenario.cluster.value_or(ClusterScenario{});
  const std::vector<PoolScenario> named = pools_of(scenario);
  Cluster cluster{.router = asked.router,
                  .decode_router = asked.decode_router,
                  .link = asked.link,
                  .failures = asked.failures,
                  .seed = scenario.seed};
  for (std::size_t i = 0; i < named.size(); ++i) {
    cluster.pools.push_back(pool_of(named[i], pools[i], step_times[i]));
    cluster.pools.back().replica.seed = scenario.seed;
  }
  return cluster;
}

namespace {

/// The lengths that one output token, the vector, replaces where a model pools; null if others are
/// stated.
LengthDistribution* unstated_output(Scenario& scenario) {
  auto* load = std::get_if<SyntheticWorkload>(&scenario.workload);
  const bool unstated =
      load != nullptr && !load->states_output && load->output == fixed_length(kDefaultOutputTokens);
  return unstated ? &load->output : nullptr;
}

/// Whether a pool serves a model that pools. What does not load is refused elsewhere.
bool is_pooled(const Scenario& scenario) {
  return std::ranges::any_of(pools_of(scenario), [&](const PoolScenario& pool) {
    const DeploymentOptions options = deployment_options(scenario, pool);
    if (options.overrides.pooling) return *options.overrides.pooling;
    try {
      return !options.model.empty() && is_encoder(load_model(options.model));
    } catch (const Error&) {
      return false;
    }
  });
}

}  // namespace

Scenario with_pooled_output(Scenario scenario) {
  LengthDistribution* output = unstated_output(scenario);
  if (output != nullptr && is_pooled(scenario)) *output = fixed_length(1);
  return scenario;
}

SimulationRun prepare_simulation(const Scenario& asked, const std::optional<Workload>& recorded) {
  SimulationRun run;
  run.scenario = asked;
  const Scenario& scenario = run.scenario;
  run.pools.clear();
  for (const PoolScenario& pool : pools_of(scenario)) {
    run.pools.push_back(prepare_pool(scenario, pool));
  }
  LengthDistribution* output = unstated_output(run.scenario);
  if (output != nullptr && is_pooled(run)) *output = fixed_length(1);
  for (const PoolRun& pool : run.pools) {
    if (pool.plan.fits) continue;
    run.refusal = fmt::format("{} does not fit on {}: {}", pool.deployment.model.name,
                              pool.deployment.gpu.display_name, pool.plan.reason);
    return run;
  }
  for (const PoolRun& pool : run.pools) {
    run.refusal = host_memory_refusal(pool);
    if (!run.refusal.empty()) return run;
  }
  run.workload = recorded ? *recorded : load_workload(scenario);
  take_recorded_limit(run);
  check_pooling(run);
  return run;
}

std::int64_t longest_request(const Deployment& deployment, const MemoryPlan& plan) {
  return longest_accepted(replica_of(deployment, plan, nullptr));
}

std::optional<std::int64_t> shortened_length(const SimulationRun& run, std::size_t pool) {
  const PoolScenario asked = pools_of(run.scenario)[pool];
  const Deployment& deployment = run.pools[pool].deployment;
  const bool whole = deployment.engine.memory_rule != MemoryRule::sglang ||
                     deployment.engine.max_model_len >= deployment.model.max_context ||
                     deployment_options(run.scenario, asked).overrides.max_model_len;
  if (whole) return std::nullopt;
  return longest_request(deployment, run.pools[pool].plan);
}

Progress ended_by(const SimulationRun& run, const Progress& progress) {
  if (!run.stopped) return progress;
  return [&run, progress](std::int64_t done, std::int64_t total) {
    return !run.stopped() && (!progress || progress(done, total));
  };
}

PoolStepTimes step_times_of(const SimulationRun& run) {
  PoolStepTimes step_times;
  for (const PoolRun& pool : run.pools) step_times.emplace_back(pool.deployment);
  return step_times;
}

void take_use(PoolRun& pool, const StepUse& use, const SimulationResult& result) {
  pool.step_causes = error_causes(use.steps, pool.deployment);
  std::vector<ErrorCause> of_steps = pool.step_causes;
  std::erase_if(of_steps, [](const ErrorCause& cause) { return cause.name == kVersionCause; });
  pool.step_uncertainty = combined_deviation(of_steps);
  pool.step_sources = step_sources(use.steps);
  // A step's work is that of one GPU of every stage.
  const double at_once = steps_at_once(result, pool) / pool.deployment.parallel.pipeline;
  pool.mfu = use.mfu * at_once;
  pool.mbu = use.mbu * at_once;
  // Stages take the parts of a step one after another, which its time and energy include.
  const Parallelism& parallel = pool.deployment.parallel;
  if (use.energy) pool.step_energy = *use.energy * (parallel.tensor * parallel.context);
}

std::vector<StepEstimate> simulate_sampled(SimulationRun& run, const PoolStepTimes& step_times,
                                           const Progress& progress) {
  std::deque<CountedSteps> counted;
  std::vector<const StepTime*> seams;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    seams.push_back(&counted.emplace_back(step_times[i], run.pools[i].deployment.engine));
  }
  run.result = simulate_on(run, run.pools, seams, progress);
  std::vector<StepEstimate> steps;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    StepUse use = use_of(counted[i], step_times[i], run.pools[i].deployment.gpu);
    take_use(run.pools[i], use, run.result);
    steps.push_back(std::move(use.steps));
  }
  return steps;
}

std::vector<PoolUtilisation> utilisation_of(const std::vector<PoolRun>& pools) {
  std::vector<PoolUtilisation> all;
  for (const PoolRun& pool : pools) {
    if (pool.mfu && pool.mbu)
      all.push_back({.pool = pool.name, .mfu = *pool.mfu, .mbu = *pool.mbu});
  }
  return all;
}

std::string uncertain_input_names() {
  std::vector<std::string> names;
  for (const UncertainInput& input : kUncertainInputs) names.emplace_back(input.in_general);
  const std::string last = std::move(names.back());
  names.pop_back();
  return joined(names) + " and " + last;
}

bool is_uncertain(const SimulationRun& run, const UncertainInput& input) {
  if (input.member == &Deviations::first_token) return first_token_uncertainty_of(run) > 0;
  const auto in_any_pool = [&](const auto& deviation_of) {
    return std::ranges::any_of(
        run.pools, [&](const PoolRun& pool) { return deviation_of(pool.deployment) > 0; });
  };
  if (input.member == &Deviations::version) return in_any_pool(version_deviation);
  if (input.member != &Deviations::acceptance) return true;
  return in_any_pool([](const Deployment& deployment) {
    return deployment.engine.speculation.acceptance_deviation;
  });
}

SimulationResult simulate_deviating(const SimulationRun& run, const PoolStepTimes& step_times,
                                    const Deviations& deviations, const Progress& progress) {
  std::vector<PoolRun> pools = run.pools;
  std::deque<ScaledStepTime> scaled;
  std::vector<const StepTime*> seams;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    PoolRun& pool = pools[i];
    const double slower = factor_of(deviations.step_time, pool.step_uncertainty) *
                          factor_of(deviations.version, version_deviation(pool.deployment));
    seams.push_back(&scaled.emplace_back(step_times[i], slower));
    HostOverhead& host = pool.deployment.engine.host;
    const double host_factor = factor_of(deviations.per_request, kHostUncertainty);
    for (Seconds* time : {&host.per_request, &host.per_prompt_token, &host.handover}) {
      *time = *time * host_factor;
    }
    Speculation& speculation = pool.deployment.engine.speculation;
    if (deviations.acceptance != 0 && speculation.acceptance_deviation > 0) {
      speculation.acceptance = deviating_acceptance(speculation, deviations.acceptance);
    }
    const double more = factor_of(deviations.kv_capacity, pool.plan.relative_uncertainty);
    pool.plan.kv_blocks = std::llround(static_cast<double>(pool.plan.kv_blocks) * more);
  }
  return simulate_on(run, pools, seams, progress, first_token_factor(run, deviations.first_token));
}

SimulationResult simulate_run(const SimulationRun& run) {
  return simulate_deviating(run, step_times_of(run), {}, {});
}

void throw_interrupted() { throw Error("interrupted before an answer; nothing was stored"); }

void throw_if_stopped(const SimulationRun& run) {
  if (run.stopped && run.stopped()) throw_interrupted();
}

}  // namespace roofcast
