#include "roofcast/question_flags.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/quantity.hpp"
#include "model/engines/engine_features.hpp"
#include "planner/flags/flag_values.hpp"
#include "planner/vary/vary.hpp"
#include "simulator/deployment_options.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {
namespace {

MemoryQuestion::Solve parse_solve(const std::string& text, const std::string& flag) {
  using Solve = MemoryQuestion::Solve;
  if (text == "batch") return Solve::batch;
  if (text == "context") return Solve::context;
  if (text == "tp") return Solve::tensor_parallel;
  if (text == "utilization" || text == "utilisation") return Solve::utilization;
  if (text == "max_num_seqs" || text == "max-num-seqs") return Solve::max_num_seqs;
  throw UsageError(flag + ": '" + text +
                   "' is not one of batch, context, tp, utilization, max_num_seqs");
}

std::int64_t parse_batch(const std::string& text, const std::string& flag) {
  return parse_count_by(
      {.what = "number of sequences", .examples = "1, 256", .min = 1, .max = kMaxEstimatedBatch},
      text, flag);
}

/// "1-256*2", "1,2,4"; each value as `parse` reads it.
template <class Parse>
auto list_of(Parse parse) {
  return [parse](const std::string& text, const std::string& flag) {
    std::vector<std::int64_t> values;
    for (const std::string& value : parse_values(text, flag)) values.push_back(parse(value, flag));
    return values;
  };
}

int parse_drafts(const std::string& text, const std::string& flag) {
  return static_cast<int>(parse_count_by(
      {.what = "number of draft tokens", .examples = "1, 4", .min = 0, .max = kMaxDrafts}, text,
      flag));
}

/// Name of the first flag given of those that say what runs where; empty: none.
std::string first_given(const DeploymentOptions& deployment) {
  if (!deployment.engine.empty()) return "engine";
  if (deployment.weight_format) return "quantization";
  if (const auto degree = first_given(deployment.parallel); !degree.empty()) {
    return std::string(degree);
  }
  const EngineKnob* knob = first_given(deployment.overrides);
  return knob == nullptr ? "" : std::string(knob->flag);
}

/// Tokens are only counted.
void refuse_timing_flags(const StaircaseQuestion& question, const DeploymentOptions& deployment) {
  std::string idle = first_given(deployment);
  if (question.acceptance) idle = "acceptance";
  if (question.draft_pass) idle = "draft-pass-time";
  if (idle.empty()) return;
  throw UsageError(
      fmt::format("--{}: would change nothing without --gpu: tokens are only counted", idle));
}

}  // namespace

const Flags<MemoryQuestion>& memory_flags() {
  using Q = MemoryQuestion;
  static const Flags<Q> flags = {
      {.name = "solve",
       .placeholder = "WHAT",
       .help = "largest batch, context or max_num_seqs, smallest tp or utilization",
       .read = into(&Q::solve, parse_solve)},
      {.name = "context",
       .placeholder = "TOKENS",
       .help = "tokens of each sequence (default --max-model-len)",
       .read = into(&Q::context, parse_token_count)},
      {.name = "batch",
       .placeholder = "N",
       .help =
           "sequences at once: do they fit? (default 1; --engine all: by every engine's rule, exit "
           "code 3 if one says no)",
       .read = into(&Q::batch, parse_positive)}};
  return flags;
}

const Flags<EngineOverrides>& memory_feature_flags() {
  static const Flags<EngineOverrides> flags = [] {
    Flags<EngineOverrides> some;
    for (const char* name :
         {"max-lora-rank", "max-loras", "num-speculative-tokens", "speculative-method",
          "draft-weight-bytes", "draft-kv-bytes", "pooling", "limit-mm-per-prompt", "host-memory",
          "kv-offloading-size"}) {
      some.push_back(*find_flag(knob_flags(KnobGroup::features), name));
    }
    return some;
  }();
  return flags;
}

const Flags<EngineOverrides>& estimate_feature_flags() {
  static const Flags<EngineOverrides> flags{*find_flag(knob_flags(KnobGroup::features), "pooling")};
  return flags;
}

const Flags<BatchesQuestion>& estimate_flags() {
  using Q = BatchesQuestion;
  static const std::string prompt =
      fmt::format("prompt tokens, or several, also --isl (default {})", kDefaultInputTokens);
  static const std::string output =
      fmt::format("generated tokens per sequence, also --osl (default {})", kDefaultOutputTokens);
  static const Flags<Q> flags = {{.name = "batch",
                                  .placeholder = "N,...",
                                  .help = "sequences at once, or several: 1-256*2 (default 1)",
                                  .read = into(&Q::batches, list_of(parse_batch))},
                                 {.name = "input-len",
                                  .placeholder = "TOKENS,...",
                                  .help = prompt,
                                  .read = into(&Q::input_tokens, list_of(parse_positive)),
                                  .aliases = {"--isl"}},
                                 {.name = "output-len",
                                  .placeholder = "TOKENS",
                                  .help = output,
                                  .read = into(&Q::output_tokens, parse_positive),
                                  .aliases = {"--osl"}}};
  return flags;
}

void refuse_idle_flags(const EngineOverrides& given, const MemoryQuestion& question) {
  DeploymentOptions options = question.deployment;
  complete_drafts(options);
  refuse_idle_flags(given, options, KnobUse::memory);
}

void refuse_idle_flags(const EngineOverrides& given, const BatchesQuestion& question) {
  refuse_idle_flags(given, question.deployment, KnobUse::steps);
}

void refuse_idle_flags(const LessonQuestion& question) {
  DeploymentOptions options = question.deployment;
  if (options.model.empty()) options.model = kLessonModel;
  if (options.gpu.empty()) options.gpu = kLessonGpu;
  refuse_idle_flags(options.overrides, options, KnobUse::even_load);
}

const Flags<StaircaseQuestion>& staircase_flags() {
  using Q = StaircaseQuestion;
  static const std::string prompt_help =
      fmt::format("tokens of the prompt (default {})", kStaircasePrompt);
  static const std::string generate_help =
      fmt::format("tokens generated (default {})", kStaircaseGenerate);
  static const Flags<Q> flags = {
      {.name = "prompt",
       .placeholder = "TOKENS",
       .help = prompt_help,
       .read = into(&Q::prompt, parse_token_count)},
      {.name = "generate",
       .placeholder = "TOKENS",
       .help = generate_help,
       .read = into(&Q::generate, parse_token_count)},
      {.name = "acceptance",
       .placeholder = "P",
       .help = "speculative decoding: acceptance probability of a draft token",
       .read = into(&Q::acceptance, parse_share)},
      {.name = "num-speculative-tokens",
       .placeholder = "K",
       .help = "draft tokens per step (default 4 with --acceptance)",
       .read = into(&Q::drafts, parse_drafts)},
      {.name = "draft-pass-time",
       .placeholder = "TIME",
       .help = "draft model's time per token of the batch (default 0)",
       .read = into(&Q::draft_pass, parse_time)}};
  return flags;
}

StaircaseQuestion staircase_question(StaircaseQuestion question,
                                     const DeploymentOptions& deployment) {
  if (question.drafts && !question.acceptance) {
    throw UsageError("--num-speculative-tokens: needs --acceptance");
  }
  if (question.drafts == 0) {
    throw UsageError("--acceptance: needs --num-speculative-tokens above 0");
  }
  if (deployment.gpu.empty()) {
    refuse_timing_flags(question, deployment);
    question.model = deployment.model;
    return question;
  }
  refuse_idle_flags(deployment.overrides, deployment, KnobUse::steps);
  if (question.generate > kMaxTimedTokens) {
    throw UsageError(
        "--generate: at most 1,000,000 tokens are timed individually (without --model and --gpu "
        "they are only counted, in any number)");
  }
  question.deployment = deployment;
  return question;
}

const Flags<LessonQuestion>& lesson_flags() {
  using Q = LessonQuestion;
  static const Flags<Q> flags = {
      {.name = "prompt",
       .placeholder = "TOKENS",
       .help = "tokens of the prompt (default 500, or what the model takes)",
       .read = into(&Q::prompt, parse_token_count)},
      {.name = "generate",
       .placeholder = "TOKENS",
       .help = "tokens of the answer (default 200, or what the model takes)",
       .read = into(&Q::generate, parse_token_count)},
      {.name = "acceptance",
       .placeholder = "P",
       .help = "probability that a draft token is accepted (default 0.7)",
       .read = into(&Q::acceptance, parse_share)},
      {.name = "num-speculative-tokens",
       .placeholder = "K",
       .help = "draft tokens per step (default 4)",
       .read = into(&Q::drafts, parse_drafts)}};
  return flags;
}

const Flags<SamplingQuestion>& sampling_flags() {
  using Q = SamplingQuestion;
  const auto temperature = [](const std::string& text, const std::string& flag) {
    return parse_number_by(
        {.what = "temperature", .examples = "0, 0.7", .min = 0, .max = kMaxTemperature}, text,
        flag);
  };
  const auto top_p = [](const std::string& text, const std::string& flag) {
    const double share = parse_share(text, flag);
    if (share > 0) return share;
    throw UsageError(flag + ": '" + text + "' must be above 0");
  };
  static const Flags<Q> flags = {{.name = "temperature",
                                  .placeholder = "T",
                                  .help = "divides the scores (default 1; 0: the likeliest word)",
                                  .read = into(&Q::temperature, temperature)},
                                 {.name = "top-k",
                                  .placeholder = "K",
                                  .help = "keeps the K likeliest words (default all)",
                                  .read = into(&Q::top_k, parse_positive)},
                                 {.name = "top-p",
                                  .placeholder = "P",
                                  .help = "keeps the likeliest words up to a sum of P (default 1)",
                                  .read = into(&Q::top_p, top_p)}};
  return flags;
}

const Flags<SimulationQuestion>& simulation_flags() {
  using Q = SimulationQuestion;
  static const Flags<Q> flags = {{.name = "explain",
                                  .help = "which limit binds, and the gain from 10 % more of each",
                                  .read = set_to(&Q::explain, true),
                                  .form = FlagForm::toggle}};
  return flags;
}

SimulationQuestion simulation_question(SimulationQuestion question, Scenario scenario,
                                       const ScenarioOptions& given, bool free_length) {
  refuse_idle_flags(given, {&scenario, 1});
  question.scenario = std::move(scenario);
  question.free_length = free_length;
  return question;
}

const Flags<SimulationQuestion>& interval_flags() {
  using Q = SimulationQuestion;
  static const Flags<Q> flags = {
      {.name = "intervals",
       .help = "80 % intervals of the latencies, however long the load",
       .read = [](Q& target, const std::string&,
                  const std::string&) { target.intervals = Intervals::always; },
       .form = FlagForm::toggle}};
  return flags;
}

double parse_share_above_zero(const std::string& text, const std::string& flag) {
  const double share = parse_share(text, flag);
  if (share > 0) return share;
  throw UsageError(fmt::format("{}: '{}' given, expected a share above 0", flag, text));
}

const Flags<CapacityOptions>& capacity_flags() {
  using O = CapacityOptions;
  static const Flags<O> flags = {
      {.name = "min-goodput",
       .placeholder = "SHARE",
       .help = "minimum share of requests within all limits of --goodput, such as 99%",
       .read = into(&O::min_goodput, parse_share_above_zero),
       .aliases = {"--goodput-share"}},
      {.name = "explain",
       .help = "also the capacity with each limit 10 % wider",
       .read = set_to(&O::explain, true),
       .form = FlagForm::toggle},
      {.name = "growth",
       .placeholder = "P%/PERIOD",
       .help = "growth of the requested load, such as 10%/month: shows when the SLO fails",
       .read = into(&O::growth, naming_flag(parse_growth))},
      {.name = "from",
       .placeholder = "DATE",
       .help = "start date of the growth, such as 2026-11-22",
       .read = into(&O::from, naming_flag(parse_date))},
      {.name = "lose-one",
       .help = "also the capacity with one replica fewer",
       .read = set_to(&O::lose_one, true),
       .form = FlagForm::toggle}};
  return flags;
}

CapacityQuestion capacity_question(Scenario scenario, const ScenarioOptions& given,
                                   const CapacityOptions& options, bool free_length) {
  const Scenario studied = with_load(scenario);
  refuse_idle_flags(given, {&studied, 1});
  if (options.from && !options.growth) throw UsageError("--from: needs --growth");
  if (options.min_goodput && scenario.slo.goodput.empty()) {
    throw UsageError("--min-goodput: needs --goodput, the limits of a good request");
  }
  CapacityQuestion question{.scenario = std::move(scenario),
                            .min_goodput_share = options.min_goodput,
                            .free_length = free_length,
                            .explain = options.explain,
                            .lose_one = options.lose_one};
  if (options.growth) question.growth = GrowthQuestion{*options.growth, options.from};
  return question;
}

}  // namespace roofcast
