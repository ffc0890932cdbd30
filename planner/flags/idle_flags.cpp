#include "planner/flags/idle_flags.hpp"

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "planner/scenario_run.hpp"

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

}  // namespace roofcast
