#include "planner/vary/vary_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "model/engines/knobs.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "planner/load/scaled_load.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/vary/scenario_path.hpp"

namespace roofcast {
namespace {

/// The flag named by `key`, with dashes: "tensor-parallel-size" for "tp"; empty if there is none.
std::string flag_named(const std::string& key) {
  const std::string name = with_dashes(key);
  for (const char* dashes : {"--", "-"}) {  // "-q" has no long form
    const std::string_view flag = flag_with_alias(dashes + name);
    if (!flag.empty()) return std::string(flag);
  }
  const std::vector<std::string> names = scenario_flag_names();
  return std::ranges::find(names, name) == names.end() ? "" : name;
}

[[noreturn]] void refuse_unknown(const std::string& key,
                                 const std::function<bool(std::string_view)>& offers = {}) {
  if (key == "gpus" || key == "num_gpus") {
    throw UsageError("unknown key; the number of GPUs is tensor_parallel_size times replicas");
  }
  std::vector<std::string> names = scenario_flag_names();
  names.insert(names.end(), kJointKeys.begin(), kJointKeys.end());
  if (offers) std::erase_if(names, [&](const std::string& name) { return !offers(name); });
  for (std::string& name : names) std::ranges::replace(name, '-', '_');
  throw UsageError(
      fmt::format("unknown key{} (a key is a flag of roofcast simulate or a place in a scenario "
                  "file, such as workload.request_rate)",
                  did_you_mean(key, names)));
}

// ---- changes relative to the baseline

/// The knob's value or, if unset, the engine's default.
std::optional<double> number_of(const Scenario& scenario, const EngineKnob& knob) {
  if (const auto set = knob.get(scenario.deployment.overrides)) return number_in(*set);
  if (knob.resolved == nullptr) return std::nullopt;
  const PoolScenario pool = pools_of(scenario).front();
  const DeploymentOptions options = deployment_options(scenario, pool);
  return number_in(knob.resolved(resolve_as_started(options).deployment.engine));
}

/// Replicas of the only pool, or of the only one with that role.
std::optional<double> replicas_of(const Scenario& scenario, PoolRole role) {
  std::optional<double> replicas;
  for (const PoolScenario& pool : pools_of(scenario)) {
    if (pool.role != role) continue;
    if (replicas) return std::nullopt;
    replicas = pool.replicas;
  }
  return replicas;
}

std::optional<double> number_of(const Scenario& scenario, const std::string& flag) {
  if (flag == "replicas") return replicas_of(scenario, PoolRole::both);
  if (flag == "prefill-replicas") return replicas_of(scenario, PoolRole::prefill);
  if (flag == "decode-replicas") return replicas_of(scenario, PoolRole::decode);
  if (const EngineKnob* knob = find_knob_by_flag(flag)) return number_of(scenario, *knob);
  const std::string place(place_of_flag(flag));
  return place.empty() ? std::nullopt : number_at(scenario, place);
}

/// The lengths that a flag sets; null if it sets none.
LengthDistribution* lengths_of(SyntheticWorkload& load, const std::string& flag) {
  if (flag == "input-len") return &load.input;
  if (flag == "output-len") return &load.output;
  if (flag == "prefix-len" && load.shared_prefix) return &load.shared_prefix->system_prompt;
  if (flag == "turns" && load.sessions) return &load.sessions->turns;
  if (flag == "first-input-len" && load.sessions && load.sessions->first_input) {
    return &*load.sessions->first_input;
  }
  return nullptr;
}

/// Multiplies the replay speed of a trace.
void scale_rate(TraceWorkload& trace, double factor) {
  if (trace.request_rate) {
    *trace.request_rate *= factor;
    return;
  }
  trace.rate_scale = trace.rate_scale.value_or(1 / trace.time_scale) * factor;
  trace.time_scale = 1;
}

/// Scales a load by a factor; nullopt if `flag` is not a length or a rate.
std::optional<Scenario> with_scaled_load(const Scenario& baseline, const Scenario& scenario,
                                         const std::string& flag, double factor) {
  Scenario scaled = scenario;
  WorkloadSpec before = baseline.workload;
  if (auto* trace = std::get_if<TraceWorkload>(&before)) {
    auto* target = std::get_if<TraceWorkload>(&scaled.workload);
    if (flag != "request-rate" || target == nullptr) return std::nullopt;
    scale_rate(*trace, factor);
    target->request_rate = trace->request_rate;
    target->rate_scale = trace->rate_scale;
    target->time_scale = trace->time_scale;
    return scaled;
  }
  auto& load = std::get<SyntheticWorkload>(before);
  auto* target = std::get_if<SyntheticWorkload>(&scaled.workload);
  if (target == nullptr) return std::nullopt;
  if (flag == "request-rate") {
    scale_rates(load, factor);
    target->request_rate = load.request_rate;
    target->pattern = load.pattern;
    return scaled;
  }
  const LengthDistribution* lengths = lengths_of(load, flag);
  LengthDistribution* changed_lengths = lengths_of(*target, flag);
  if (lengths == nullptr || changed_lengths == nullptr) return std::nullopt;
  *changed_lengths = scaled_lengths(*lengths, factor);
  return scaled;
}

/// The rate of a trace has another flag than that of a synthetic load.
std::string flag_for_load(const std::string& flag, const Scenario& scenario) {
  const bool traced = std::holds_alternative<TraceWorkload>(scenario.workload);
  return traced && flag == "request-rate" ? "trace-rate" : flag;
}

/// A share of a count of tokens or sequences is rounded down: half of an odd number fits where the
/// number does.
double changed_flag(const std::string& flag, double number, const RelativeChange& change) {
  const double result = changed(number, change);
  const EngineKnob* knob = find_knob_by_flag(flag);
  const bool counts =
      knob != nullptr && (knob->kind == KnobKind::count || knob->kind == KnobKind::length);
  if (!counts || change.kind != RelativeChange::Kind::multiply) return result;
  constexpr double kLastDigits = 1 + 1e-12;  // of a product that is whole but for its last digits
  return std::floor(result * kLastDigits);
}

Scenario with_change(const Scenario& baseline, const Scenario& scenario, const std::string& flag,
                     const RelativeChange& change) {
  if (change.kind == RelativeChange::Kind::multiply) {
    if (auto scaled = with_scaled_load(baseline, scenario, flag, change.amount)) return *scaled;
  }
  const std::optional<double> number = number_of(baseline, flag);
  if (!number) {
    throw UsageError("the baseline has no number there to change; give the value itself");
  }
  return with_flag(scenario, flag_for_load(flag, scenario),
                   number_text(changed_flag(flag, *number, change)));
}

// ---- speculation, whose parts mean nothing alone

constexpr const char* kSpeculationForms =
    "expected off, or METHOD:DRAFTS:RATE such as eagle:3:0.7 (RATE: acceptance of a draft token)";

/// "eagle:3:0.7", "ngram:4", where the baseline knows the acceptance, or "off".
Scenario with_speculation(const Scenario& scenario, const std::string& text) {
  Scenario changed = scenario;
  EngineOverrides& knobs = changed.deployment.overrides;
  knobs.speculative_method.reset();
  knobs.num_speculative_tokens.reset();
  if (text == "off" || text == "none") {
    knobs.acceptance_rate.reset();
    knobs.acceptance_by_position.reset();
    knobs.acceptance_deviation.reset();
    knobs.draft_pass_time.reset();
    knobs.speculative_eagle_topk.reset();
    knobs.speculative_num_draft_tokens.reset();
    knobs.draft_weight_bytes.reset();
    knobs.draft_kv_bytes.reset();
    return changed;
  }
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) throw UsageError(kSpeculationForms);
  if (parts.size() == 3) knobs.acceptance_by_position.reset();
  changed = with_flag(changed, "speculative-config", text);
  const bool known = changed.deployment.overrides.acceptance_rate ||
                     changed.deployment.overrides.acceptance_by_position;
  if (!known) throw UsageError(std::string("acceptance is unknown; ") + kSpeculationForms);
  return changed;
}

// ---- replicas that do both, or prefill and decode apart

/// "1:3", or "together" for as many that do both.
Scenario with_pools(const Scenario& scenario, const std::string& text) {
  if (text == "together") {
    std::int64_t replicas = 0;
    for (const PoolScenario& pool : pools_of(scenario)) replicas += pool.replicas;
    return with_flag(scenario, "replicas", std::to_string(replicas));
  }
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2) {
    throw UsageError("expected together, or PREFILL:DECODE such as 1:3 (replicas of each)");
  }
  const Scenario apart = with_flag(scenario, "prefill-replicas", std::string(parts[0]));
  return with_flag(apart, "decode-replicas", std::string(parts[1]));
}

// ---- one setting

Scenario with_place(const Scenario& baseline, const Scenario& scenario, const Setting& setting) {
  const auto change = relative_change(setting.value);
  if (!change) return with_value_at(scenario, setting.key, setting.value);
  const std::optional<double> number = number_at(baseline, setting.key);
  if (!number) throw UsageError("the baseline has no number there to change");
  return with_value_at(scenario, setting.key, number_text(changed(*number, *change)));
}

Scenario with_setting(const Scenario& baseline, const Scenario& scenario, const Setting& setting) {
  if (setting.key.find('.') != std::string::npos) return with_place(baseline, scenario, setting);
  if (setting.key == kSpeculationKey) return with_speculation(scenario, setting.value);
  if (is_joint_key(setting.key)) return with_pools(scenario, setting.value);
  const std::string flag = flag_named(setting.key);
  if (flag.empty()) refuse_unknown(setting.key);
  if (flag == "seed") throw UsageError("to repeat with other seeds use `seeds`");
  const auto change = relative_change(setting.value);
  if (change) return with_change(baseline, scenario, flag, *change);
  return with_flag(scenario, flag_for_load(flag, scenario), setting.value);
}

}  // namespace

bool is_joint_key(std::string_view key) {
  return key == kSpeculationKey || key == kPoolsKey || key == "pd";
}

void check_vary_key(const std::string& key, const std::function<bool(std::string_view)>& offers) {
  if (key.find('.') != std::string::npos || is_joint_key(key)) return;
  if (!flag_named(key).empty()) return;
  try {
    refuse_unknown(key, offers);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("`vary` {}: {}", shown(key), error.what()));
  }
}

Scenario with_settings(const Scenario& baseline, const Settings& settings) {
  Scenario scenario = baseline;
  for (const Setting& setting : settings) {
    try {
      scenario = with_setting(baseline, scenario, setting);
    } catch (const std::exception& error) {
      throw UsageError(
          fmt::format("`vary` {}={}: {}", shown(setting.key), shown(setting.value), error.what()));
    }
  }
  return scenario;
}

}  // namespace roofcast
