#include "planner/flags/idle_flags.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "planner/scenario_run.hpp"
#include "simulator/engine/batching_policy.hpp"

namespace roofcast {
namespace {

constexpr const char* kAllEngines = "all";
constexpr const char* kAnyGpu = "any";
/// Whether a knob changes something does not depend on the GPU, but for CPUs.
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
    if (!idle) return;
  }
  if (idle) throw UsageError(*idle);
}

void refuse_idle_flags(const EngineOverrides& given, const Scenario& scenario, Degrees degrees) {
  if (given.scheduling_policy == QueueOrder::priority &&
      std::holds_alternative<SyntheticWorkload>(scenario.workload)) {
    throw UsageError(
        "`scheduling_policy`: priority would change nothing here, only requests of a trace have "
        "priorities");
  }
  std::optional<std::string> idle;
  for (const PoolScenario& pool : pools_of(scenario)) {
    DeploymentOptions options = deployment_options(scenario, pool);
    options.gpu = first_gpu(options.gpu);
    const auto deployment = resolved_if_possible(options);
    if (!deployment) return;
    KnobSetting setting{.use = KnobUse::load,
                        .engine = deployment->engine,
                        .model = deployment->model,
                        .gpu = deployment->gpu};
    if (degrees == Degrees::known) setting.parallel = deployment->parallel;
    idle = idle_knob(given, setting);
    if (!idle) return;
  }
  if (idle) throw UsageError(*idle);
}

void refuse_idle_max_tokens(const WorkloadOptions& given, const Scenario& scenario) {
  if (given.max_tokens != kNoMaxTokens) return;  // a number also cuts longer outputs
  for (const PoolScenario& pool : pools_of(scenario)) {
    DeploymentOptions options = deployment_options(scenario, pool);
    options.gpu = first_gpu(options.gpu);
    const auto deployment = resolved_if_possible(options);
    if (!deployment) return;
    if (make_policy(deployment->engine)->reserves_output(deployment->engine)) return;
  }
  throw UsageError(
      "`max_tokens`: would change nothing here, the engine reserves nothing for what clients "
      "declare");
}

void refuse_idle_router(const ClusterOptions& given, const Scenario& scenario) {
  if (!given.router) return;
  std::array<std::int32_t, 3> replicas{};  // by role
  for (const PoolScenario& pool : pools_of(scenario)) {
    if (pool.autoscaling) return;
    replicas.at(static_cast<std::size_t>(pool.role)) += pool.replicas;
  }
  for (const std::int32_t of_role : replicas) {
    if (of_role > 1) return;
  }
  throw UsageError("`router`: would change nothing here, there is one replica to choose from");
}

}  // namespace roofcast
