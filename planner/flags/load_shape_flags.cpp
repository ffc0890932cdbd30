#include "planner/flags/load_shape_flags.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "planner/flags/flag_values.hpp"

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
    throw UsageError("--ramp-up-strategy, --stages, --cycle and --diurnal are mutually exclusive");
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
    throw UsageError("--range-ratio-style: needs --random-range-ratio");
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

using L = LoadShapeOptions;

Flags<L> rate_flags() {
  return {
      {.name = "normalised",
       .placeholder = "[=off]",
       .help = "the last request arrives at num-prompts / request-rate, as in vLLM (default on)",
       .read = into(&L::normalised, parse_switch),
       .form = FlagForm::on_off,
       .place = "workload.normalised"},
      {.name = "ramp-up-strategy",
       .placeholder = "S",
       .help = "linear or exponential, instead of --request-rate",
       .read = into(&L::ramp_up_strategy, parse_text),
       .place = "workload.ramp_up.strategy"},
      {.name = "ramp-up-start-rps",
       .placeholder = "R",
       .help = "initial rate",
       .read = into(&L::ramp_up_start, parse_rate),
       .place = "workload.ramp_up.start_rps"},
      {.name = "ramp-up-end-rps",
       .placeholder = "R",
       .help = "final rate",
       .read = into(&L::ramp_up_end, parse_rate),
       .place = "workload.ramp_up.end_rps"},
      {.name = "stages",
       .placeholder = "RATE:SECONDS ...",
       .help = "stages, each reported separately; 5:30:warm-up is not reported",
       .read = added_to(&L::stages),
       .form = FlagForm::list,
       .place = "workload.stages"},
      {.name = "cycle",
       .placeholder = "RATE:SECONDS ...",
       .help = "repeated, such as 20:10 0:50 for bursts",
       .read = added_to(&L::cycle),
       .form = FlagForm::list,
       .place = "workload.cycle"},
      {.name = "diurnal",
       .placeholder = "LOW:HIGH",
       .help = "cosine between two rates, optionally with :SECONDS of its period (default a day)",
       .read = into(&L::diurnal, naming_flag(parse_diurnal)),
       .place = "workload.diurnal"},
      {.name = "num-warmups",
       .placeholder = "N",
       .help = "initial requests left out of all statistics (default 0)",
       .read = into(&L::num_warmups, parse_from_zero),
       .place = "workload.num_warmups"}};
}

Flags<L> prompt_flags() {
  return {
      {.name = "random-range-ratio",
       .placeholder = "R",
       .help = "randomises fixed lengths; or '{\"input\": R, \"output\": R}'",
       .read = into(&L::range_ratio, parse_text),
       .place = "workload.range_ratio"},
      {.name = "range-ratio-style",
       .placeholder = "S",
       .help = "vllm: L(1-R) to L(1+R); sglang: LR to L (default vllm)",
       .read = into(&L::range_ratio_style, parse_text),
       .place = "workload.range_ratio_style"},
      {.name = "prefix-len",
       .placeholder = "LENGTHS",
       .help = "shared system prompt before the input (default none; 2048 with the flags below)",
       .read = into(&L::prefix_len, parse_text),
       .place = "workload.shared_prefix.system_prompt_len",
       .aliases = {"--random-prefix-len", "--gsp-system-prompt-len",
                   "--prefix-repetition-prefix-len"}},
      {.name = "prefix-groups",
       .placeholder = "N",
       .help = "distinct system prompts (default 1)",
       .read = into(&L::prefix_groups, parse_positive),
       .place = "workload.shared_prefix.num_groups",
       .aliases = {"--gsp-num-groups", "--prefix-repetition-num-prefixes"}},
      {.name = "prompts-per-group",
       .placeholder = "N",
       .help = "distinct questions per group; 0: all distinct (default 0)",
       .read = into(&L::prompts_per_group, parse_from_zero),
       .place = "workload.shared_prefix.num_prompts_per_group",
       .aliases = {"--gsp-prompts-per-group"}}};
}

Flags<L> session_flags() {
  return {{.name = "turns",
           .placeholder = "LENGTHS",
           .help = "each arrival starts a session with this many turns (3 with the flags below)",
           .read = into(&L::turns, naming_flag(parse_length_distribution)),
           .place = "workload.sessions.turns"},
          {.name = "think-time",
           .placeholder = "TIMES",
           .help = "think time between turns in seconds; or exponential:mean, uniform:a:b ...",
           .read = into(&L::think_time, naming_flag(parse_think_time)),
           .place = "workload.sessions.think_time_s"},
          {.name = "first-input-len",
           .placeholder = "LENGTHS",
           .help = "length of the first question (default --input-len)",
           .read = into(&L::first_input, naming_flag(parse_length_distribution)),
           .place = "workload.sessions.first_input_len"},
          {.name = "max-session-tokens",
           .placeholder = "N",
           .help = "a session ends before exceeding this many tokens (default no limit)",
           .read = into(&L::max_session_tokens, parse_from_zero),
           .place = "workload.sessions.max_session_tokens"},
          {.name = "lora-adapters",
           .placeholder = "N",
           .help = "number of LoRA adapters that requests use (default none)",
           .read = into(&L::lora_adapters, parse_from_zero),
           .place = "workload.lora_adapters"},
          {.name = "lora-zipf",
           .placeholder = "S",
           .help = "adapter k with probability proportional to 1 / k^S (default uniform)",
           .read = into(&L::lora_zipf, parse_positive_number),
           .place = "workload.lora_zipf"},
          {.name = "images",
           .placeholder = "N",
           .help = "images in every prompt, in addition to --input-len (default none)",
           .read = into(&L::images, parse_from_zero),
           .place = "workload.images",
           .aliases = {"--image-count", "--pictures"}},
          {.name = "image-tokens",
           .placeholder = "TOKENS",
           .help = "tokens of the prompt for each image",
           .read = into(&L::image_tokens, parse_from_zero),
           .place = "workload.image_tokens",
           .aliases = {"--picture-tokens"}}};
}

}  // namespace

const Flags<LoadShapeOptions>& load_shape_flags() {
  static const Flags<L> flags = [] {
    Flags<L> all = rate_flags();
    for (const Flags<L>& more : {prompt_flags(), session_flags()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return flags;
}

bool has_pattern(const LoadShapeOptions& options) {
  return options.ramp_up_strategy || options.ramp_up_start || options.ramp_up_end ||
         options.diurnal || !options.stages.empty() || !options.cycle.empty();
}

void apply(const LoadShapeOptions& options, bool count_given, SyntheticWorkload& workload) {
  if (options.normalised) workload.normalised = *options.normalised;
  apply_pattern(options, workload);
  if (count_given && !options.stages.empty()) {
    throw UsageError("--num-prompts excludes --stages: rates and durations decide");
  }
  if (options.num_warmups) workload.num_warmups = *options.num_warmups;
  apply_ranges(options, workload.range_ratio);
  apply_prefix(options, count_given, workload);
  apply_sessions(options, workload);
  if (options.lora_adapters) workload.lora.count = *options.lora_adapters;
  if (options.lora_zipf) workload.lora.zipf = *options.lora_zipf;
  if (options.lora_zipf && workload.lora.count == 0) {
    throw UsageError("--lora-zipf: needs --lora-adapters");
  }
  if (options.images) workload.images.count = *options.images;
  if (options.image_tokens) workload.images.tokens = *options.image_tokens;
  if ((workload.images.count > 0) != (workload.images.tokens > 0)) {
    throw UsageError("--images and --image-tokens: need each other");
  }
}

}  // namespace roofcast
