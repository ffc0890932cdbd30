#include "planner/what_if/vary_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/suggest.hpp"
#include "cli/options/simulate_command_options.hpp"
#include "planner/capacity/scaled_load.hpp"
#include "planner/scenario_run.hpp"
#include "planner/what_if/scenario_path.hpp"
#include "roofcast/deployment_description.hpp"

namespace roofcast {
namespace {

/// Flags that are not called as their key in a scenario; "engine_options." and "workload." before
/// the flag's own name need no entry.
struct FlagPath {
  std::string_view flag;
  std::string_view path;
};
constexpr std::array kFlagPaths = {
    FlagPath{"tensor_parallel_size", "parallel.tensor"},
    FlagPath{"pipeline_parallel_size", "parallel.pipeline"},
    FlagPath{"data_parallel_size", "parallel.data"},
    FlagPath{"overhead", "engine_options.overhead_bytes"},
    FlagPath{"weight_bytes", "engine_options.weight_bytes"},
    FlagPath{"draft_pass_time", "engine_options.draft_pass_time_s"},
    FlagPath{"lora_step_time", "engine_options.lora_step_time_s"},
    FlagPath{"lora_adapter_time", "engine_options.lora_adapter_time_s"},
    FlagPath{"kv_offloading_size", "engine_options.kv_offloading_size_bytes"},
    FlagPath{"kv_offloading_bandwidth", "engine_options.kv_offloading_bandwidth_bytes_per_s"},
    FlagPath{"kv_offloading_latency", "engine_options.kv_offloading_latency_s"},
    FlagPath{"chunked_prefill_size", "engine_options.max_num_batched_tokens"},
    FlagPath{"prefix_groups", "workload.shared_prefix.num_groups"},
    FlagPath{"prompts_per_group", "workload.shared_prefix.num_prompts_per_group"},
    FlagPath{"max_session_tokens", "workload.sessions.max_session_tokens"},
    FlagPath{"think_time", "workload.sessions.think_time_s"},
    FlagPath{"random_range_ratio", "workload.range_ratio"},
    FlagPath{"ramp_up_start_rps", "workload.ramp_up.start_rps"},
    FlagPath{"ramp_up_end_rps", "workload.ramp_up.end_rps"},
    FlagPath{"trace_rate", "workload.request_rate"},
};

// ---- flags

/// The flag as the program spells it, with underscores: "tp" to "tensor_parallel_size"; empty for
/// what is none.
std::string canonical(const std::string& key, const po::options_description& options) {
  for (const char* dashes : {"--", "-"}) {  // "-q" has no long form
    std::string name = normalise({dashes + key + "=x"}, options).front();
    if (!name.starts_with("--")) continue;
    name = name.substr(2, name.find('=') - 2);
    // An empty name is the beginning of every option.
    if (name.empty() || options.find_nothrow(name, false) == nullptr) continue;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  return "";
}

[[noreturn]] void refuse_unknown(const std::string& key, const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) {
    names.push_back(option->long_name());
    std::replace(names.back().begin(), names.back().end(), '-', '_');
  }
  throw UsageError(fmt::format(
      "no such key{}; a key is a flag of roofcast simulate or a place in a scenario file, as "
      "workload.request_rate",
      did_you_mean(key, names)));
}

/// `--flag=value` put over the scenario.
Scenario with_flag(const Scenario& scenario, const std::string& flag, const std::string& value) {
  SimulateOptions options;
  po::options_description all = option_group("");
  po::options_description more = option_group("");
  add_scenario_options(options, all, more);
  all.add(more);
  std::string name = flag;
  std::replace(name.begin(), name.end(), '_', '-');
  const po::option_description* known = all.find_nothrow(name, false);
  const bool bare = known != nullptr && known->semantic()->max_tokens() == 0;
  if (bare && !parse_switch(value, "--" + name)) return scenario;
  po::variables_map values;
  po::store(
      po::command_line_parser(std::vector<std::string>{"--" + name + (bare ? "" : "=" + value)})
          .options(all)
          .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
          .run(),
      values);
  po::notify(values);
  return with_flags(scenario, options);
}

// ---- changes against the baseline

/// The knob as the engine would start with it.
std::optional<double> engine_default(const Scenario& scenario, const std::string& flag) {
  const PoolScenario pool = pools_of(scenario).front();
  const Json engine = describe(resolve(deployment_options(scenario, pool)).deployment)["engine"];
  const auto found = engine.find(flag);
  if (found == engine.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// Replicas of the only pool, or of the only one in that role.
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
  if (flag == "prefill_replicas") return replicas_of(scenario, PoolRole::prefill);
  if (flag == "decode_replicas") return replicas_of(scenario, PoolRole::decode);
  const auto* known = std::find_if(kFlagPaths.begin(), kFlagPaths.end(),
                                   [&](const FlagPath& one) { return one.flag == flag; });
  if (known != kFlagPaths.end()) return number_at(scenario, std::string(known->path));
  for (const char* folder : {"", "engine_options.", "workload."}) {
    if (const auto number = number_at(scenario, folder + flag)) return number;
  }
  return engine_default(scenario, flag);
}

/// The lengths that a flag sets; null for another flag, or where there are none.
LengthDistribution* lengths_of(SyntheticWorkload& load, const std::string& flag) {
  if (flag == "input_len") return &load.input;
  if (flag == "output_len") return &load.output;
  if (flag == "prefix_len" && load.shared_prefix) return &load.shared_prefix->system_prompt;
  if (flag == "turns" && load.sessions) return &load.sessions->turns;
  if (flag == "first_input_len" && load.sessions && load.sessions->first_input) {
    return &*load.sessions->first_input;
  }
  return nullptr;
}

/// A trace is replayed so much faster than it is already.
void scale_rate(TraceWorkload& trace, double factor) {
  if (trace.request_rate) {
    *trace.request_rate *= factor;
    return;
  }
  trace.rate_scale = trace.rate_scale.value_or(1 / trace.time_scale) * factor;
  trace.time_scale = 1;
}

/// Loads know what a factor means to them; nothing where `flag` is not of that kind.
std::optional<Scenario> with_scaled_load(const Scenario& baseline, const Scenario& scenario,
                                         const std::string& flag, double factor) {
  Scenario scaled = scenario;
  WorkloadSpec before = baseline.workload;
  if (auto* trace = std::get_if<TraceWorkload>(&before)) {
    auto* target = std::get_if<TraceWorkload>(&scaled.workload);
    if (flag != "request_rate" || target == nullptr) return std::nullopt;
    scale_rate(*trace, factor);
    target->request_rate = trace->request_rate;
    target->rate_scale = trace->rate_scale;
    target->time_scale = trace->time_scale;
    return scaled;
  }
  auto& load = std::get<SyntheticWorkload>(before);
  auto* target = std::get_if<SyntheticWorkload>(&scaled.workload);
  if (target == nullptr) return std::nullopt;
  if (flag == "request_rate") {
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

/// A trace is asked for its rate by another flag than a synthetic load.
std::string flag_for_load(const std::string& flag, const Scenario& scenario) {
  const bool traced = std::holds_alternative<TraceWorkload>(scenario.workload);
  return traced && flag == "request_rate" ? "trace_rate" : flag;
}

Scenario with_change(const Scenario& baseline, const Scenario& scenario, const std::string& flag,
                     const RelativeChange& change) {
  if (change.kind == RelativeChange::Kind::multiply) {
    if (auto scaled = with_scaled_load(baseline, scenario, flag, change.amount)) return *scaled;
  }
  const std::optional<double> number = number_of(baseline, flag);
  if (!number) {
    throw UsageError("the baseline has no number there to go from; give the value itself");
  }
  return with_flag(scenario, flag_for_load(flag, scenario), number_text(changed(*number, change)));
}

// ---- one setting

Scenario with_place(const Scenario& baseline, const Scenario& scenario, const Setting& setting) {
  const auto change = relative_change(setting.value);
  if (!change) return with_value_at(scenario, setting.key, setting.value);
  const std::optional<double> number = number_at(baseline, setting.key);
  if (!number) throw UsageError("the baseline has no number there to go from");
  return with_value_at(scenario, setting.key, number_text(changed(*number, *change)));
}

Scenario with_setting(const Scenario& baseline, const Scenario& scenario, const Setting& setting) {
  if (setting.key.find('.') != std::string::npos) return with_place(baseline, scenario, setting);
  SimulateOptions unused;
  po::options_description all = option_group("");
  po::options_description more = option_group("");
  add_scenario_options(unused, all, more);
  all.add(more);
  const std::string flag = canonical(setting.key, all);
  if (flag.empty()) refuse_unknown(setting.key, all);
  if (flag == "seed") throw UsageError("seeds are repeated with --seeds");
  if (flag == "from_cmd") throw UsageError("a whole command line is no knob");
  const auto change = relative_change(setting.value);
  if (change) return with_change(baseline, scenario, flag, *change);
  return with_flag(scenario, flag_for_load(flag, scenario), setting.value);
}

}  // namespace

Scenario with_settings(const Scenario& baseline, const Settings& settings) {
  Scenario scenario = baseline;
  for (const Setting& setting : settings) {
    try {
      scenario = with_setting(baseline, scenario, setting);
    } catch (const std::exception& error) {  // of Boost's parser, too
      throw UsageError(
          fmt::format("--vary {}={}: {}", shown(setting.key), shown(setting.value), error.what()));
    }
  }
  return scenario;
}

}  // namespace roofcast
