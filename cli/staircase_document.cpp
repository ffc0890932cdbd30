#include "cli/staircase_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "model/step/staircase.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

/// Rows shown of a curve: the first tokens, then ever sparser, and the last.
std::vector<std::size_t> shown_tokens(std::size_t count) {
  std::vector<std::size_t> tokens;
  for (std::size_t i = 1; i < count; i *= 2) tokens.push_back(i - 1);
  if (count > 0) tokens.push_back(count - 1);
  return tokens;
}

void add_counts(Document& document, const StaircaseQuestion& question) {
  const Staircase count = count_staircase(question.prompt, question.generate);
  const std::int64_t prefill = prefill_attention_positions(question.prompt);
  Json& json = document.machine;
  json["naive_kv_computations"] = count.naive_kv_computations;
  json["cached_kv_computations"] = count.cached_kv_computations;
  json["waste_factor"] = count.waste_factor;
  json["attention_positions"] = count.attention_positions;
  json["mean_attention_positions"] = count.mean_attention_positions;
  json["prefill_attention_positions"] = prefill;
  Table table{
      .title = "", .columns = {{"Per layer and head", false}, {"Naive"}, {"KV cache"}}, .rows = {}};
  table.rows.push_back({"K/V computations", with_separators(count.naive_kv_computations),
                        with_separators(count.cached_kv_computations)});
  table.rows.push_back({"waste factor", fixed(count.waste_factor, 1) + "x", "1x"});
  table.rows.push_back(
      {"attention positions of decode", "", with_separators(count.attention_positions)});
  table.rows.push_back({"  per generated token", "", fixed(count.mean_attention_positions, 1)});
  table.rows.push_back({"attention positions of prefill", "", with_separators(prefill)});
  document.sections.push_back(
      {.heading = fmt::format("Prompt of {} tokens, {} generated", with_separators(question.prompt),
                              with_separators(question.generate)),
       .lines = {},
       .table = std::move(table)});
}

void add_times(Document& document, const StaircaseQuestion& question,
               const Deployment& deployment) {
  const StaircaseTimes times = time_staircase(deployment, question.prompt, question.generate);
  Json naive = Json::array();
  Json cached = Json::array();
  for (const Seconds time : times.naive) naive.push_back(time.value);
  for (const Seconds time : times.cached) cached.push_back(time.value);
  document.machine["naive_token_s"] = std::move(naive);
  document.machine["cached_token_s"] = std::move(cached);
  document.machine["naive_total_s"] = times.naive_total.value;
  document.machine["cached_total_s"] = times.cached_total.value;
  Table table{.title = "", .columns = {{"Token"}, {"Naive"}, {"KV cache"}, {"Ratio"}}, .rows = {}};
  for (const std::size_t i : shown_tokens(times.naive.size())) {
    table.rows.push_back({with_separators(static_cast<std::int64_t>(i) + 1),
                          as_time(times.naive[i]), as_time(times.cached[i]),
                          fixed(times.naive[i] / times.cached[i], 1) + "x"});
  }
  table.rows.push_back({"all", as_time(times.naive_total), as_time(times.cached_total),
                        fixed(times.naive_total / times.cached_total, 1) + "x"});
  document.sections.push_back({.heading = "Time per token: " + headline(deployment),
                               .lines = {"The first token of the cached loop is its prefill."},
                               .table = std::move(table)});
}

void add_flattening(Document& document, const StaircaseQuestion& question,
                    const Deployment& deployment) {
  const int drafts = question.acceptance ? question.drafts : 0;
  Table table{.title = "What flattens it further",
              .columns = {{"Batch"}, {"Drafts"}, {"Tokens a step"}, {"Step"}, {"Per token"}},
              .rows = {}};
  Json rows = Json::array();
  for (const FlattenedToken& token :
       flatten_staircase(deployment, question.prompt, question.generate,
                         question.acceptance.value_or(0.0), drafts)) {
    table.rows.push_back({with_separators(token.batch), with_separators(token.drafts),
                          fixed(token.tokens_per_step, 2), as_time(token.step),
                          as_time(token.per_token)});
    rows.push_back({{"batch", token.batch},
                    {"drafts", token.drafts},
                    {"tokens_per_step", token.tokens_per_step},
                    {"step_s", token.step.value},
                    {"per_token_s", token.per_token.value}});
  }
  document.machine["flattened"] = std::move(rows);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

}  // namespace

Document staircase_document(const StaircaseQuestion& question,
                            const std::optional<Deployment>& deployment) {
  Json inputs = deployment ? describe(*deployment) : Json::object();
  inputs["prompt_tokens"] = question.prompt;
  inputs["generated_tokens"] = question.generate;
  Document document{.machine = envelope("staircase", std::move(inputs)), .sections = {}};
  add_counts(document, question);
  if (deployment) {
    add_times(document, question, *deployment);
    add_flattening(document, question, *deployment);
  }
  return document;
}

}  // namespace roofcast
