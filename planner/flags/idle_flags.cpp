#include "planner/flags/idle_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/engines/knobs.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/step_estimate.hpp"
#include "planner/scenario/prices.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "simulator/engine/batching_policy.hpp"
#include "simulator/io/trace_reader.hpp"

namespace roofcast {
namespace {

constexpr const char* kAllEngines = "all";
constexpr const char* kAnyGpu = "any";
/// Whether a knob changes something does not depend on the GPU, except for CPUs.
constexpr const char* kSomeGpu = "h100";

std::string first_gpu(const std::string& text) {
  const std::string first = text.substr(0, text.find(','));
  return first == kAnyGpu ? kSomeGpu : first;
}

std::optional<Deployment> resolved_if_possible(const DeploymentOptions& options) {
  try {
    return resolve(options).deployment;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Times of a deployment's steps, and its memory: equal if nothing else differs that is shown.
std::vector<double> figures_of(const Deployment& deployment) {
  const RooflineStepTime times(deployment);
  std::vector<double> figures;
  for (const std::int64_t sequences : {1, 24, 256, 2048}) {
    figures.push_back(times.seconds(decode_batch(deployment.model, sequences, 1000)).value);
  }
  for (const std::int64_t tokens : {512, 8192}) {
    figures.push_back(times.seconds(prefill_batch(1, tokens)).value);
  }
  figures.push_back(plan_memory(deployment).kv_budget.value);
  return figures;
}

/// Names the first given knob of which kernels answer for experts, if kernel tables hold only one
/// for this model's: then no value of it changes anything. Nullopt if none was given, or may act.
std::optional<std::string> idle_kernels(const EngineOverrides& given,
                                        const DeploymentOptions& options) {
  for (const char* key : {"moe_backend", "all2all_backend", "expert_power_law"}) {
    const EngineKnob& knob = *find_knob_by_key(key);
    if (!knob.get(given)) continue;
    const auto asked = resolved_if_possible(options);
    if (!asked) return std::nullopt;
    const std::vector<double> figures = figures_of(*asked);
    DeploymentOptions other = options;
    const auto differs = [&] {
      const auto deployment = resolved_if_possible(other);
      return deployment && figures_of(*deployment) != figures;
    };
    other.overrides.expert_power_law.reset();  // as published, if that is the knob
    bool acts = knob.kind == KnobKind::number && differs();
    other = options;
    for (const std::string_view name : knob.choice.names) {
      knob.set(other.overrides, std::string(name));
      acts = acts || differs();
    }
    if (acts) continue;
    const bool picks = knob.kind == KnobKind::number;
    return fmt::format("{}: would change nothing here, {}", knob_name(knob),
                       picks ? "experts are picked so by default"
                             : "one kernel was timed for this model's experts");
  }
  return std::nullopt;
}

}  // namespace

void refuse_idle_flags(const EngineOverrides& given, const DeploymentOptions& options,
                       KnobUse use) {
  std::vector<std::string> engines{options.engine};
  if (options.engine == kAllEngines) engines = {kDefaultEngine, "sglang", "trtllm", "textbook"};
  std::optional<std::string> idle;
  for (const std::string& engine : engines) {
    DeploymentOptions one = options;
    one.engine = engine;
    const auto deployment = resolved_if_possible(one);
    if (!deployment) continue;  // refused by that engine
    idle = idle_knob(given, {.use = use,
                             .engine = deployment->engine,
                             .model = deployment->model,
                             .gpu = deployment->gpu,
                             .parallel = deployment->parallel});
    if (!idle && use != KnobUse::memory) idle = idle_kernels(given, one);
    if (!idle) return;
  }
  if (idle) throw UsageError(*idle);
}

std::optional<std::string> idle_priorities(const EngineOverrides& given, const Scenario& scenario) {
  if (given.scheduling_policy != QueueOrder::priority ||
      !std::holds_alternative<SyntheticWorkload>(scenario.workload)) {
    return std::nullopt;
  }
  return "`scheduling_policy`: priority would change nothing here, only requests of a trace have "
         "priorities";
}

namespace {

using Reason = std::optional<std::string>;  // why a flag would change nothing; unset: it may act

/// Deployments of all pools; nullopt if one of them does not resolve.
std::optional<std::vector<Deployment>> deployments_of(const Scenario& scenario) {
  std::vector<Deployment> deployments;
  for (const PoolScenario& pool : pools_of(scenario)) {
    DeploymentOptions options = deployment_options(scenario, pool);
    options.gpu = first_gpu(options.gpu);
    auto deployment = resolved_if_possible(options);
    if (!deployment) return std::nullopt;
    deployments.push_back(std::move(*deployment));
  }
  return deployments;
}

Reason idle_knobs(const ScenarioOptions& given, const Scenario& scenario, Degrees degrees) {
  const EngineOverrides& overrides = given.deployment.overrides;
  if (auto idle = idle_priorities(overrides, scenario)) return idle;
  const auto deployments = deployments_of(scenario);
  if (!deployments) return std::nullopt;
  Reason idle;
  for (const Deployment& deployment : *deployments) {
    KnobSetting setting{.use = KnobUse::load,
                        .engine = deployment.engine,
                        .model = deployment.model,
                        .gpu = deployment.gpu};
    if (degrees == Degrees::known) setting.parallel = deployment.parallel;
    idle = idle_knob(overrides, setting);
    if (!idle) break;
  }
  if (idle || degrees == Degrees::searched) return idle;
  for (const PoolScenario& pool : pools_of(scenario)) {
    DeploymentOptions options = deployment_options(scenario, pool);
    options.gpu = first_gpu(options.gpu);
    idle = idle_kernels(overrides, options);
    if (!idle) break;
  }
  return idle;
}

/// "none" acts only where an engine reserves for what clients declare. A number cuts longer outputs
/// in every engine.
Reason idle_max_tokens(const ScenarioOptions& given, const Scenario& scenario, Degrees) {
  if (given.workload.max_tokens != kNoMaxTokens) return std::nullopt;
  const auto deployments = deployments_of(scenario);
  if (!deployments) return std::nullopt;
  const auto reserves = [](const Deployment& deployment) {
    return make_policy(deployment.engine)->reserves_output(deployment.engine);
  };
  if (std::ranges::any_of(*deployments, reserves)) return std::nullopt;
  return "`max_tokens`: would change nothing here, the engine does not reserve KV cache for "
         "max_tokens";
}

/// Whether a request may have two replicas of a role to choose from.
bool has_choice(const Scenario& scenario) {
  std::array<std::int32_t, 3> replicas{};  // by role
  for (const PoolScenario& pool : pools_of(scenario)) {
    if (pool.autoscaling) return true;
    replicas.at(static_cast<std::size_t>(pool.role)) += pool.replicas;
  }
  return std::ranges::any_of(replicas, [](std::int32_t of_role) { return of_role > 1; });
}

Reason idle_router(const ScenarioOptions& given, const Scenario& scenario, Degrees) {
  if (!given.cluster.router || has_choice(scenario)) return std::nullopt;
  return "`router`: would change nothing here, there is one replica to choose from";
}

bool is_drawn(const LengthDistribution& lengths) {
  return lengths.kind != LengthDistribution::Kind::fixed;
}

/// Whether arrivals, lengths or contents of the requests are drawn.
bool is_drawn(const WorkloadSpec& workload) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&workload);
  if (synthetic == nullptr) return false;
  const bool even_gaps = std::holds_alternative<SteadyRate>(synthetic->pattern) &&
                         (std::isinf(synthetic->request_rate) || std::isinf(synthetic->burstiness));
  return !even_gaps || is_drawn(synthetic->input) || is_drawn(synthetic->output) ||
         synthetic->range_ratio.input || synthetic->range_ratio.output ||
         synthetic->shared_prefix || synthetic->sessions || synthetic->lora.count > 0;
}

Reason nothing_drawn(const WorkloadSpec& workload) {
  if (is_drawn(workload)) return std::nullopt;
  return std::holds_alternative<TraceWorkload>(workload)
             ? "`seed`: would change nothing here, replaying this trace uses no randomness"
             : "`seed`: would change nothing here, nothing is drawn: all requests are alike and "
               "arrive at once or evenly";
}

Reason no_hash_ids(const WorkloadSpec& workload) {
  const auto* trace = std::get_if<TraceWorkload>(&workload);
  if (trace == nullptr || !read_trace(*trace).contents.empty()) return std::nullopt;
  return "`trace_block_size`: would change nothing here, the trace has no hash ids";
}

bool draws(RouterPolicy policy) {
  return policy == RouterPolicy::random || policy == RouterPolicy::power_of_two;
}

/// Whether a router draws among several replicas or data-parallel ranks.
bool routes_at_random(const Scenario& scenario) {
  if (!scenario.cluster) return false;
  const bool drawn =
      draws(scenario.cluster->router.policy) || draws(scenario.cluster->decode_router.policy);
  if (drawn && has_choice(scenario)) return true;
  return std::ranges::any_of(scenario.cluster->pools, [](const PoolScenario& pool) {
    return pool.rank_router && draws(*pool.rank_router);
  });
}

/// The seed decides on arrivals, lengths and contents of synthetic loads, on classes of requests
/// that have none, on the choices of some routers and on which drafts are accepted.
Reason idle_seed(const ScenarioOptions& given, const Scenario& scenario, Degrees) {
  if (!given.workload.seed || is_drawn(scenario.workload) || routes_at_random(scenario) ||
      scenario.slo.classes.size() > 1) {
    return std::nullopt;
  }
  const auto deployments = deployments_of(scenario);
  if (!deployments) return std::nullopt;
  for (const Deployment& deployment : *deployments) {
    if (deployment.engine.speculation.on()) return std::nullopt;
  }
  return nothing_drawn(scenario.workload);
}

/// The block size says how many tokens a hash id of a trace stands for; only prefix caches and
/// routers that look into them compare ids.
Reason idle_block_size(const ScenarioOptions& given, const Scenario& scenario, Degrees) {
  if (!given.workload.trace_block_size) return std::nullopt;
  if (auto idle = no_hash_ids(scenario.workload)) return idle;
  const auto deployments = deployments_of(scenario);
  if (!deployments) return std::nullopt;
  const auto caches = [](const Deployment& deployment) { return deployment.engine.prefix_caching; };
  if (std::ranges::any_of(*deployments, caches)) return std::nullopt;
  return "`trace_block_size`: would change nothing here, the engine keeps no prefixes";
}

/// Keys of the GPUs of all pools; nullopt if they are not known here: none is named, "any", or one
/// that does not exist.
std::optional<std::vector<std::string>> gpu_keys_of(std::span<const Scenario> scenarios) {
  std::vector<std::string> keys;
  for (const Scenario& scenario : scenarios) {
    for (const PoolScenario& pool : pools_of(scenario)) {
      const std::string gpus = deployment_options(scenario, pool).gpu;
      if (gpus.empty()) return std::nullopt;
      for (const std::string_view name : split(gpus, ',')) {
        if (name == kAnyGpu) return std::nullopt;
        try {
          keys.push_back(price_key(std::string(name)));
        } catch (const Error&) {
          return std::nullopt;
        }
      }
    }
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

/// Throws UsageError for a stated price of a GPU that none of the scenarios uses. A file may hold
/// more than is asked about.
void refuse_idle_prices(const ScenarioOptions& given, std::span<const Scenario> scenarios) {
  if (!given.pricing.table || !states_prices(*given.pricing.table)) return;
  const auto used = gpu_keys_of(scenarios);
  if (!used) return;
  const PriceTable stated = stated_prices(*given.pricing.table);
  for (const auto& [gpu, prices] : stated.gpus) {
    if (std::ranges::find(*used, gpu) != used->end()) continue;
    throw UsageError(fmt::format("`prices`: {} is not among the GPUs of this question ({})", gpu,
                                 fmt::join(*used, ", ")));
  }
}

}  // namespace

void refuse_idle_flags(const WorkloadOptions& given, const WorkloadSpec& workload) {
  Reason idle;
  if (given.seed) idle = nothing_drawn(workload);
  if (!idle && given.trace_block_size) idle = no_hash_ids(workload);
  if (idle) throw UsageError(*idle);
}

void refuse_idle_flags(const ScenarioOptions& given, std::span<const Scenario> scenarios,
                       Degrees degrees) {
  refuse_idle_prices(given, scenarios);
  for (const auto rule : {idle_knobs, idle_max_tokens, idle_router, idle_seed, idle_block_size}) {
    Reason reason;
    for (const Scenario& scenario : scenarios) {
      Reason here = rule(given, scenario, degrees);
      if (!here) {
        reason.reset();
        break;
      }
      if (!reason) reason = std::move(here);
    }
    if (reason) throw UsageError(*reason);
  }
}

}  // namespace roofcast
