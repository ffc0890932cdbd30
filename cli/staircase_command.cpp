// roofcast staircase: what the KV cache saves, counted; with a model and a GPU also timed.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/spelling.hpp"
#include "reports/document.hpp"
#include "roofcast/question_flags.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {
namespace {

/// Rows shown of a curve: the first tokens, then increasingly few, and the last.
std::vector<std::size_t> listed_tokens(std::size_t count) {
  std::vector<std::size_t> tokens;
  for (std::size_t i = 1; i < count; i *= 2) tokens.push_back(i - 1);
  if (count > 0) tokens.push_back(count - 1);
  return tokens;
}

Section count_section(const StaircaseAnswer& answer) {
  const Staircase& counts = answer.counts;
  Table table{
      .title = "", .columns = {{"Per layer and head", false}, {"Naive"}, {"KV cache"}}, .rows = {}};
  table.rows.push_back({"K/V computations", with_separators(counts.naive_kv_computations),
                        with_separators(counts.cached_kv_computations)});
  table.rows.push_back({"waste factor", fixed(counts.waste_factor, 1) + "x", "1x"});
  table.rows.push_back(
      {"attention positions in decode", "", with_separators(counts.attention_positions)});
  table.rows.push_back({"  per generated token", "", fixed(counts.mean_attention_positions, 1)});
  table.rows.push_back(
      {"attention positions in prefill", "", with_separators(answer.prefill_attention_positions)});
  return {.heading = fmt::format("Prompt of {} tokens, {} generated",
                                 with_separators(answer.inputs.prompt_tokens),
                                 with_separators(answer.inputs.generated_tokens)),
          .lines = {},
          .table = std::move(table)};
}

Table time_table(const StaircaseTimes& times) {
  Table table{.title = "", .columns = {{"Token"}, {"Naive"}, {"KV cache"}, {"Ratio"}}, .rows = {}};
  for (const std::size_t i : listed_tokens(times.naive.size())) {
    table.rows.push_back({with_separators(static_cast<std::int64_t>(i) + 1),
                          as_time(times.naive[i]), as_time(times.cached[i]),
                          fixed(times.naive[i] / times.cached[i], 1) + "x"});
  }
  table.rows.push_back({"all", as_time(times.naive_total), as_time(times.cached_total),
                        fixed(times.naive_total / times.cached_total, 1) + "x"});
  return table;
}

Table flattened_table(const std::vector<FlattenedToken>& tokens) {
  Table table{.title = "Further speed-ups",
              .columns = {{"Batch"}, {"Drafts"}, {"Tokens per step"}, {"Step"}, {"Per token"}},
              .rows = {}};
  for (const FlattenedToken& token : tokens) {
    table.rows.push_back({with_separators(token.batch), with_separators(token.drafts),
                          fixed(token.tokens_per_step, 2), as_time(token.step),
                          as_time(token.per_token)});
  }
  return table;
}

/// Counts with and without a cache; with a deployment also token times, and how batching and
/// speculative decoding change the cost of a token.
Document staircase_document(const StaircaseAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {count_section(answer)}};
  if (!answer.times || !answer.inputs.deployment) return document;
  document.sections.push_back({.heading = "Time per token: " + headline(*answer.inputs.deployment),
                               .lines = {"With a cache, the first token is the prefill."},
                               .table = time_table(answer.times->tokens)});
  document.sections.push_back(
      {.heading = "", .lines = {}, .table = flattened_table(answer.times->flattened)});
  return document;
}

}  // namespace

int run_staircase(CommandContext& context) {
  DeploymentOptions deployment;
  StaircaseQuestion question;
  Usage usage{
      .synopsis = "roofcast staircase --prompt P --generate T [--model M --gpu G]",
      .example = "roofcast staircase --prompt 500 --generate 200 --model llama-3.1-8b --gpu h100",
      .options = option_group("Options"),
      .unlisted = scheduler_options(deployment),
      .positional = {}};
  add_flags(usage.options, staircase_flags(), question);
  usage.options.add(machine_options(deployment)).add(engine_options(deployment));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;

  print(staircase_document(staircase(staircase_question(question, deployment))), common->output,
        context.out);
  return kExitDone;
}

}  // namespace roofcast
