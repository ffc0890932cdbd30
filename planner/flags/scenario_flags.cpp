#include "planner/flags/scenario_flags.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "planner/flags/engine_flags.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

/// Calls `visit` with each table and the part of ScenarioOptions that its flags set.
template <class Visit>
void visit_tables(Visit visit) {
  using S = ScenarioOptions;
  const auto deployment = [](S& o) -> DeploymentOptions& { return o.deployment; };
  const auto overrides = [](S& o) -> EngineOverrides& { return o.deployment.overrides; };
  const auto workload = [](S& o) -> WorkloadOptions& { return o.workload; };
  const auto shape = [](S& o) -> LoadShapeOptions& { return o.workload.shape; };
  const auto cluster = [](S& o) -> ClusterOptions& { return o.cluster; };
  visit(machine_flags(), deployment);
  visit(synthetic_flags(), workload);
  visit(trace_flags(), workload);
  visit(objective_flags(), workload);
  visit(cluster_flags(), cluster);
  visit(engine_choice_flags(), deployment);
  visit(knob_flags(KnobGroup::memory_and_batch), overrides);
  visit(load_shape_flags(), shape);
  visit(trace_form_flags(), workload);
  visit(knob_flags(KnobGroup::scheduler), overrides);
  visit(knob_flags(KnobGroup::features), overrides);
}

/// Calls `visit` with each flag.
template <class Visit>
void visit_flags(Visit visit) {
  visit_tables([&](const auto& flags, auto) {
    for (const auto& flag : flags) visit(flag);
  });
}

[[noreturn]] void refuse_for_pool(const std::string& flag, const PoolScenario& pool,
                                  const char* key) {
  throw UsageError(flag + ": pool '" + pool.name + "' of the scenario already has its own " + key +
                   "; change it in the file");
}

/// The key of the first knob that is set; null if none is.
const char* first_knob(const EngineOverrides& overrides) {
  const auto knobs = engine_knobs();
  const auto given = std::ranges::find_if(
      knobs, [&](const EngineKnob& knob) { return knob.get(overrides).has_value(); });
  return given == knobs.end() ? nullptr : given->key;
}

/// Flags apply to the scenario as a whole: a pool that sets the key itself would not follow.
void refuse_idle_flags(const DeploymentOptions& given, const ClusterScenario& cluster) {
  const ParallelismOptions& degrees = given.parallel;
  const char* degree = degrees.tensor            ? "--tensor-parallel-size"
                       : degrees.pipeline        ? "--pipeline-parallel-size"
                       : degrees.data            ? "--data-parallel-size"
                       : degrees.expert_parallel ? "--enable-expert-parallel"
                                                 : nullptr;
  const char* knob = first_knob(given.overrides);
  for (const PoolScenario& pool : cluster.pools) {
    if (pool.gpu && !given.gpu.empty()) refuse_for_pool("--gpu", pool, "gpu");
    if (pool.engine && !given.engine.empty()) refuse_for_pool("--engine", pool, "engine");
    if (pool.weight_format && given.weight_format) {
      refuse_for_pool("--quantization or --dtype", pool, "quantization");
    }
    if (pool.parallel && degree != nullptr) refuse_for_pool(degree, pool, "parallel");
    if (pool.overrides && knob != nullptr) refuse_for_pool(knob, pool, "engine_options");
  }
}

}  // namespace

Scenario with_options(Scenario scenario, const ScenarioOptions& options) {
  const DeploymentOptions& given = options.deployment;
  if (scenario.cluster) refuse_idle_flags(given, *scenario.cluster);
  if (!given.model.empty()) scenario.model = given.model;
  if (!given.gpu.empty()) scenario.gpu = given.gpu;
  if (!given.engine.empty()) scenario.engine = given.engine;
  if (given.weight_format) scenario.weight_format = given.weight_format;
  scenario.parallel = with_given(scenario.parallel, given.parallel);
  take_overrides(scenario.overrides, given.overrides);
  apply(options.cluster, scenario);
  apply(options.workload, scenario);
  return scenario;
}

std::vector<std::string> scenario_flag_names() {
  std::vector<std::string> names;
  visit_flags([&](const auto& flag) { names.emplace_back(flag.name); });
  return names;
}

std::string_view flag_with_alias(std::string_view word) {
  std::string_view name;
  visit_flags([&](const auto& flag) {
    if (std::ranges::find(flag.aliases, word) != flag.aliases.end()) name = flag.name;
  });
  return name;
}

std::vector<std::string> aliases_of_flag(std::string_view flag) {
  std::vector<std::string> aliases;
  visit_flags([&](const auto& one) {
    if (one.name == flag) aliases.assign(one.aliases.begin(), one.aliases.end());
  });
  return aliases;
}

std::string_view place_of_flag(std::string_view flag) {
  std::string_view place;
  visit_flags([&](const auto& one) {
    if (one.name == flag) place = one.place;
  });
  return place;
}

Scenario with_flag(const Scenario& scenario, const std::string& flag, const std::string& text) {
  ScenarioOptions options;
  visit_tables([&](const auto& flags, auto part) {
    for (const auto& one : flags) {
      if (one.name != flag) continue;
      if (one.form == FlagForm::toggle && !parse_switch(text, "--" + flag)) continue;
      one.read(part(options), text, "--" + flag);
    }
  });
  return with_options(scenario, options);
}

}  // namespace roofcast
