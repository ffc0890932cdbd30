#include "roofcast/question_flags.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/quantity.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

MemoryQuestion::Solve parse_solve(const std::string& text, const std::string& flag) {
  using Solve = MemoryQuestion::Solve;
  if (text == "batch") return Solve::batch;
  if (text == "context") return Solve::context;
  if (text == "tp") return Solve::tensor_parallel;
  throw UsageError(flag + ": '" + text + "' is not one of batch, context, tp");
}

std::int64_t parse_batch(const std::string& text, const std::string& flag) {
  return parse_count_by(
      {.what = "number of sequences", .examples = "1, 256", .min = 1, .max = kMaxEstimatedBatch},
      text, flag);
}

int parse_drafts(const std::string& text, const std::string& flag) {
  constexpr int kMaxDrafts = 1'000;
  return static_cast<int>(parse_count_by(
      {.what = "number of draft tokens", .examples = "1, 4", .min = 0, .max = kMaxDrafts}, text,
      flag));
}

}  // namespace

const Flags<MemoryQuestion>& memory_flags() {
  using Q = MemoryQuestion;
  static const Flags<Q> flags = {
      {.name = "solve",
       .placeholder = "WHAT",
       .help = "the largest batch, the longest context or the smallest tp",
       .read = into(&Q::solve, parse_solve)},
      {.name = "context",
       .placeholder = "TOKENS",
       .help = "tokens of each sequence (default --max-model-len)",
       .read = into(&Q::context, parse_token_count)},
      {.name = "batch",
       .placeholder = "N",
       .help = "sequences at once: do they fit? (default 1)",
       .read = into(&Q::batch, parse_positive)}};
  return flags;
}

const Flags<EstimateQuestion>& estimate_flags() {
  using Q = EstimateQuestion;
  static const Flags<Q> flags = {{.name = "batch",
                                  .placeholder = "N",
                                  .help = "number of sequences (default 1)",
                                  .read = into(&Q::batch, parse_batch)},
                                 {.name = "input-len",
                                  .placeholder = "TOKENS",
                                  .help = "prompt tokens per sequence, also --isl (default 1024)",
                                  .read = into(&Q::input_tokens, parse_positive),
                                  .aliases = {"--isl"}},
                                 {.name = "output-len",
                                  .placeholder = "TOKENS",
                                  .help = "generated tokens per sequence, also --osl (default 128)",
                                  .read = into(&Q::output_tokens, parse_positive),
                                  .aliases = {"--osl"}}};
  return flags;
}

const Flags<StaircaseQuestion>& staircase_flags() {
  using Q = StaircaseQuestion;
  static const Flags<Q> flags = {
      {.name = "prompt",
       .placeholder = "TOKENS",
       .help = "tokens of the prompt",
       .read = into(&Q::prompt, parse_token_count),
       .required = true},
      {.name = "generate",
       .placeholder = "TOKENS",
       .help = "tokens generated",
       .read = into(&Q::generate, parse_token_count),
       .required = true},
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
       .help =
           "draft model's time per token of the whole batch (default 0, as of an n-gram lookup)",
       .read = into(&Q::draft_pass, parse_time)}};
  return flags;
}

StaircaseQuestion staircase_question(StaircaseQuestion question,
                                     const DeploymentOptions& deployment) {
  if (deployment.gpu.empty()) {
    question.model = deployment.model;
    return question;
  }
  if (question.generate > kMaxTimedTokens) {
    throw UsageError(
        "--generate: at most 1,000,000 tokens are timed individually (without --model and --gpu "
        "they are only counted, in any number)");
  }
  question.deployment = deployment;
  return question;
}

const Flags<SimulationQuestion>& simulation_flags() {
  using Q = SimulationQuestion;
  static const Flags<Q> flags = {{.name = "explain",
                                  .help = "which limit binds, and the gain from 10 % more of each",
                                  .read = set_to(&Q::explain, true),
                                  .form = FlagForm::toggle}};
  return flags;
}

const Flags<CapacityOptions>& capacity_flags() {
  using O = CapacityOptions;
  static const Flags<O> flags = {
      {.name = "least-goodput",
       .placeholder = "SHARE",
       .help = "minimum share of requests within all limits of --goodput, such as 99%",
       .read = into(&O::min_goodput, parse_share)},
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

CapacityQuestion capacity_question(Scenario scenario, const CapacityOptions& options,
                                   bool free_length) {
  if (options.from && !options.growth) throw UsageError("--from: needs --growth");
  if (options.min_goodput && scenario.slo.goodput.empty()) {
    throw UsageError("--least-goodput: needs --goodput, the limits of a good request");
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
