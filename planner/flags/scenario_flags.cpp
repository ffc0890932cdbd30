#include "planner/flags/scenario_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "planner/flags/engine_flags.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

[[noreturn]] void refuse_for_pool(const std::string& flag, const PoolScenario& pool,
                                  const char* key) {
  throw UsageError(flag + ": pool '" + pool.name + "' of the scenario already has its own " + key +
                   "; change it in the file");
}

/// Flags apply to the scenario as a whole: a pool that sets the key itself would not follow.
void refuse_idle_flags(const DeploymentOptions& given, const ClusterScenario& cluster) {
  const std::string_view degree = first_given(given.parallel);
  const EngineKnob* knob = first_given(given.overrides);
  for (const PoolScenario& pool : cluster.pools) {
    const DeploymentOptions& own = pool.own;
    if (!own.gpu.empty() && !given.gpu.empty()) refuse_for_pool("--gpu", pool, "gpu");
    if (!own.engine.empty() && !given.engine.empty()) refuse_for_pool("--engine", pool, "engine");
    if (own.weight_format && given.weight_format) {
      refuse_for_pool("--quantization or --dtype", pool, "quantization");
    }
    if (!first_given(own.parallel).empty() && !degree.empty()) {
      refuse_for_pool(fmt::format("--{}", degree), pool, "parallel");
    }
    if (first_given(own.overrides) != nullptr && knob != nullptr) {
      refuse_for_pool(fmt::format("--{}", knob->flag), pool, "engine_options");
    }
  }
}

PriceKind parse_price_kind(const std::string& text, const std::string& flag) {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kPriceKinds) {
    if (text == name) return kind;
    names.push_back(name);
  }
  throw UsageError(
      fmt::format("{}: '{}' given, expected one of {}", flag, text, fmt::join(names, ", ")));
}

}  // namespace

const Flags<PricingOptions>& pricing_flags() {
  using P = PricingOptions;
  static const Flags<P> flags = {
      {.name = "pricing",
       .placeholder = "KIND",
       .help = "price of an hour: on-demand (default), reserved, spot or owned, from --prices",
       .read = into(&P::kind, parse_price_kind),
       .place = "pricing.kind"},
      {.name = "prices",
       .placeholder = "FILE|GPU=X,...",
       .help = "price table (roofcast gpus --as-prices prints one), or $ per GPU and hour "
               "(default: the profiles' prices)",
       .read = into(&P::table, parse_text),
       .place = "pricing.table",
       .aliases = {"--price"}}};
  return flags;
}

Scenario with_options(Scenario scenario, const ScenarioOptions& options) {
  const DeploymentOptions& given = options.deployment;
  if (scenario.cluster) refuse_idle_flags(given, *scenario.cluster);
  lay_over(scenario.deployment, given);
  apply(options.cluster, scenario);
  apply(options.workload, scenario);
  if (options.pricing.kind) scenario.pricing.kind = *options.pricing.kind;
  if (options.pricing.table) scenario.pricing.table = *options.pricing.table;
  return scenario;
}

const Flags<ScenarioOptions>& scenario_flags() {
  using S = ScenarioOptions;
  static const Flags<S> flags = [] {
    const auto overrides = [](S& o) -> EngineOverrides& { return o.deployment.overrides; };
    const auto shape = [](S& o) -> LoadShapeOptions& { return o.workload.shape; };
    Flags<S> all;
    append(all, machine_flags(), &S::deployment);
    append(all, synthetic_flags(), &S::workload);
    append(all, trace_flags(), &S::workload);
    append(all, objective_flags(), &S::workload);
    append(all, cluster_flags(), &S::cluster);
    append(all, pricing_flags(), &S::pricing);
    append(all, engine_choice_flags(), &S::deployment);
    append(all, knob_flags(KnobGroup::memory_and_batch), overrides);
    append(all, load_shape_flags(), shape);
    append(all, trace_form_flags(), &S::workload);
    append(all, knob_flags(KnobGroup::scheduler), overrides);
    append(all, knob_flags(KnobGroup::features), overrides);
    return all;
  }();
  return flags;
}

std::vector<std::string> scenario_flag_names() {
  std::vector<std::string> names;
  for (const auto& flag : scenario_flags()) names.emplace_back(flag.name);
  return names;
}

std::string_view flag_with_alias(std::string_view word) {
  for (const auto& flag : scenario_flags()) {
    if (std::ranges::find(flag.aliases, word) != flag.aliases.end()) return flag.name;
  }
  return {};
}

std::vector<std::string> aliases_of_flag(std::string_view flag) {
  const auto* found = find_flag(scenario_flags(), flag);
  if (found == nullptr) return {};
  return {found->aliases.begin(), found->aliases.end()};
}

std::string_view place_of_flag(std::string_view flag) {
  const auto* found = find_flag(scenario_flags(), flag);
  return found == nullptr ? std::string_view{} : found->place;
}

Scenario with_flag(const Scenario& scenario, const std::string& flag, const std::string& text) {
  const auto* found = find_flag(scenario_flags(), flag);
  ScenarioOptions options;
  if (found->form != FlagForm::toggle || parse_switch(text, "--" + flag)) {
    found->read(options, text, "--" + flag);
  }
  return with_options(scenario, options);
}

}  // namespace roofcast
