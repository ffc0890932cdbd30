#include "cli/options/load_shape_options.hpp"

#include <nlohmann/json.hpp>

#include "cli/options/flag_values.hpp"

namespace roofcast {
namespace {

std::int64_t parse_from_zero(const std::string& text, const std::string& flag) {
  return parse_count_by({.what = "count", .examples = "0, 8, 16k", .min = 0, .max = kMaxRequests},
                        text, flag);
}

void apply_ramp(const LoadShapeOptions& options, SyntheticWorkload& workload) {
  if (!options.ramp_up_strategy && !options.ramp_up_start && !options.ramp_up_end) return;
  if (!options.ramp_up_strategy || !options.ramp_up_start || !options.ramp_up_end) {
    throw UsageError(
        "--ramp-up-strategy, --ramp-up-start-rps and --ramp-up-end-rps go together: one is "
        "missing");
  }
  RampUp ramp{.start = *options.ramp_up_start, .end = *options.ramp_up_end};
  if (*options.ramp_up_strategy == "exponential") {
    ramp.strategy = RampUp::Strategy::exponential;
  } else if (*options.ramp_up_strategy != "linear") {
    throw UsageError("--ramp-up-strategy: '" + *options.ramp_up_strategy +
                     "' is not a strategy (linear, exponential)");
  }
  workload.pattern = ramp;
}

std::vector<RateStage> parse_stages(const std::vector<std::string>& texts,
                                    const std::string& flag) {
  std::vector<RateStage> stages;
  for (const std::string& text : texts) {
    stages.push_back(naming_flag(parse_rate_stage)(text, flag));
  }
  return stages;
}

void apply_pattern(const LoadShapeOptions& options, SyntheticWorkload& workload) {
  const bool ramp = options.ramp_up_strategy || options.ramp_up_start || options.ramp_up_end;
  const int patterns = (ramp ? 1 : 0) + (options.stages.empty() ? 0 : 1) +
                       (options.cycle.empty() ? 0 : 1) + (options.diurnal ? 1 : 0);
  if (patterns > 1) {
    throw UsageError("--ramp-up-strategy, --stages, --cycle and --diurnal exclude each other");
  }
  apply_ramp(options, workload);
  if (!options.stages.empty()) {
    workload.pattern = StagedLoad{parse_stages(options.stages, "--stages")};
  }
  if (!options.cycle.empty()) {
    workload.pattern = RateCycle{parse_stages(options.cycle, "--cycle")};
  }
  if (options.diurnal) workload.pattern = *options.diurnal;
}

constexpr const char* kRatioForms =
    "--random-range-ratio: expected a number from 0 to 1, or "
    "'{\"input\": 0.3, \"output\": 0.5}'";

/// A plain number for both lengths, or vLLM's JSON object with one each.
void apply_range_ratio(const std::string& text, RangeRatio& range) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_number()) {
    range.input = range.output = json.get<double>();
    return;
  }
  if (!json.is_object() || json.empty()) throw UsageError(kRatioForms);
  for (const auto& item : json.items()) {
    const bool input = item.key() == "input";
    if (!item.value().is_number() || (!input && item.key() != "output")) {
      throw UsageError(kRatioForms);
    }
    (input ? range.input : range.output) = item.value().get<double>();
  }
}

void apply_ranges(const LoadShapeOptions& options, RangeRatio& range) {
  if (options.range_ratio) apply_range_ratio(*options.range_ratio, range);
  if (!options.range_ratio_style) return;
  if (*options.range_ratio_style != "vllm" && *options.range_ratio_style != "sglang") {
    throw UsageError("--range-ratio-style: '" + *options.range_ratio_style +
                     "' is not a style (vllm, sglang)");
  }
  if (!range.input && !range.output) {
    throw UsageError("--range-ratio-style: given without --random-range-ratio");
  }
  range.style =
      *options.range_ratio_style == "vllm" ? RangeRatio::Style::vllm : RangeRatio::Style::sglang;
}

void apply_prefix(const LoadShapeOptions& options, bool count_given, SyntheticWorkload& workload) {
  if (options.prefix_len == "0") {
    workload.shared_prefix.reset();
    return;
  }
  if (!options.prefix_len && !options.prefix_groups && !options.prompts_per_group) return;
  SharedPrefix prefix = workload.shared_prefix.value_or(SharedPrefix{});
  if (options.prefix_len) {
    prefix.system_prompt =
        naming_flag(parse_length_distribution)(*options.prefix_len, "--prefix-len");
  }
  if (options.prefix_groups) prefix.groups = *options.prefix_groups;
  if (options.prompts_per_group) prefix.prompts_per_group = *options.prompts_per_group;
  if (prompts_of(prefix) > 0 && !count_given) workload.num_prompts = prompts_of(prefix);
  workload.shared_prefix = prefix;
}

void apply_sessions(const LoadShapeOptions& options, SyntheticWorkload& workload) {
  const bool given =
      options.turns || options.first_input || options.think_time || options.max_session_tokens;
  if (!given) return;
  Sessions sessions = workload.sessions.value_or(Sessions{});
  if (options.turns) sessions.turns = *options.turns;
  if (options.first_input) sessions.first_input = options.first_input;
  if (options.think_time) sessions.think_time = *options.think_time;
  if (options.max_session_tokens) sessions.max_session_tokens = *options.max_session_tokens;
  workload.sessions = sessions;
}

void add_rates(po::options_description& options, LoadShapeOptions& target) {
  options.add_options()("normalised",
                        converted(target.normalised, "--normalised", parse_switch)
                            ->implicit_value("true", "")
                            ->value_name("[=off]"),
                        "last arrival at num-prompts / request-rate, as vLLM (default on)")(
      "ramp-up-strategy",
      converted(target.ramp_up_strategy, "--ramp-up-strategy", parse_text)->value_name("S"),
      "linear or exponential, instead of --request-rate")(
      "ramp-up-start-rps",
      converted(target.ramp_up_start, "--ramp-up-start-rps", parse_rate)->value_name("R"),
      "rate of the first request")(
      "ramp-up-end-rps",
      converted(target.ramp_up_end, "--ramp-up-end-rps", parse_rate)->value_name("R"),
      "rate of the last")("stages",
                          po::value(&target.stages)->multitoken()->value_name("RATE:SECONDS ..."),
                          "each reported by itself; 5:30:warm-up is not reported")(
      "cycle", po::value(&target.cycle)->multitoken()->value_name("RATE:SECONDS ..."),
      "repeated, as 20:10 0:50 for bursts")(
      "diurnal",
      converted(target.diurnal, "--diurnal", naming_flag(parse_diurnal))->value_name("LOW:HIGH"),
      "a cosine, with :SECONDS of the period (default a day)")(
      "num-warmups",
      converted(target.num_warmups, "--num-warmups", parse_from_zero)->value_name("N"),
      "first requests that no statistic counts (default 0)");
}

void add_prompts(po::options_description& options, LoadShapeOptions& target) {
  options.add_options()(
      "random-range-ratio",
      converted(target.range_ratio, "--random-range-ratio", parse_text)->value_name("R"),
      "spreads fixed lengths; or '{\"input\": R, \"output\": R}'")(
      "range-ratio-style",
      converted(target.range_ratio_style, "--range-ratio-style", parse_text)->value_name("S"),
      "vllm: L(1-R) to L(1+R); sglang: LR to L (default vllm)")(
      "prefix-len", converted(target.prefix_len, "--prefix-len", parse_text)->value_name("LENGTHS"),
      "shared system prompt before the input (default none; 2048 with the flags below)")(
      "prefix-groups",
      converted(target.prefix_groups, "--prefix-groups", parse_positive)->value_name("N"),
      "different system prompts (default 1)")(
      "prompts-per-group",
      converted(target.prompts_per_group, "--prompts-per-group", parse_from_zero)->value_name("N"),
      "questions of a group; 0: none twice (default 0)");
}

void add_sessions(po::options_description& options, LoadShapeOptions& target) {
  options.add_options()("turns",
                        converted(target.turns, "--turns", naming_flag(parse_length_distribution))
                            ->value_name("LENGTHS"),
                        "makes each arrival a session of so many turns (3 with the flags below)")(
      "think-time",
      converted(target.think_time, "--think-time", naming_flag(parse_think_time))
          ->value_name("TIMES"),
      "seconds between turns; or exponential:mean, uniform:a:b ...")(
      "first-input-len",
      converted(target.first_input, "--first-input-len", naming_flag(parse_length_distribution))
          ->value_name("LENGTHS"),
      "the first question (default as --input-len)")(
      "max-session-tokens",
      converted(target.max_session_tokens, "--max-session-tokens", parse_from_zero)
          ->value_name("N"),
      "a session ends before it passes them (default no limit)")(
      "lora-adapters",
      converted(target.lora_adapters, "--lora-adapters", parse_from_zero)->value_name("N"),
      "requests are for one of N LoRA adapters (default none)")(
      "lora-zipf",
      converted(target.lora_zipf, "--lora-zipf", parse_positive_number)->value_name("S"),
      "adapter k in proportion to 1 / k^S (default all alike)");
}

}  // namespace

po::options_description load_shape_options(LoadShapeOptions& target) {
  po::options_description options = option_group("Shape of the synthetic load");
  add_rates(options, target);
  add_prompts(options, target);
  add_sessions(options, target);
  return options;
}

bool has_pattern(const LoadShapeOptions& options) {
  return options.ramp_up_strategy || options.ramp_up_start || options.ramp_up_end ||
         options.diurnal || !options.stages.empty() || !options.cycle.empty();
}

bool is_given(const LoadShapeOptions& options) {
  return has_pattern(options) || options.normalised || options.num_warmups || options.range_ratio ||
         options.range_ratio_style || options.prefix_len || options.prefix_groups ||
         options.prompts_per_group || options.turns || options.first_input || options.think_time ||
         options.max_session_tokens || options.lora_adapters || options.lora_zipf;
}

void apply(const LoadShapeOptions& options, bool count_given, SyntheticWorkload& workload) {
  if (options.normalised) workload.normalised = *options.normalised;
  apply_pattern(options, workload);
  if (count_given && !options.stages.empty()) {
    throw UsageError("--num-prompts does not go with --stages: rates and durations decide");
  }
  if (options.num_warmups) workload.num_warmups = *options.num_warmups;
  apply_ranges(options, workload.range_ratio);
  apply_prefix(options, count_given, workload);
  apply_sessions(options, workload);
  if (options.lora_adapters) workload.lora.count = *options.lora_adapters;
  if (options.lora_zipf) workload.lora.zipf = *options.lora_zipf;
  if (options.lora_zipf && workload.lora.count == 0) {
    throw UsageError("--lora-zipf: given without --lora-adapters");
  }
}

}  // namespace roofcast
