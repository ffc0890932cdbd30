#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/answers/cost_cells.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {
namespace {

Printed or_beyond(const std::optional<std::int64_t>& count) {
  return count ? printed::count(*count) : "over 2^63";
}

/// How the counts come about, with the numbers.
std::vector<std::string> derivation(const StaircaseAnswer& answer) {
  const Staircase& counts = answer.counts;
  const std::int64_t generated = answer.inputs.generated_tokens;
  if (generated == 0) return {};
  // An empty prompt is one start token.
  const std::int64_t prompt = std::max<std::int64_t>(answer.inputs.prompt_tokens, 1);
  const std::string p = with_separators(prompt), g = with_separators(generated);
  return {
      fmt::format("Naive: step i, from 1, computes K and V of all p + i - 1 positions, in all "
                  "p g + g (g - 1) / 2 = {} x {} + {} x {} / 2 = {}; {} of them redundant.",
                  p, g, g, with_separators(generated - 1),
                  with_separators(counts.naive_kv_computations),
                  with_separators(counts.redundant_kv_computations)),
      fmt::format(
          "KV cache: once per token, {} by the textbook (p + g), {}x less; a loop needs {}, "
          "since nothing reads the last token's, {}x less.",
          with_separators(counts.cached_kv_computations), fixed(counts.waste_factor, 1),
          with_separators(counts.needed_kv_computations),
          fixed(to_double(counts.naive_kv_computations) / to_double(counts.needed_kv_computations),
                1)),
      fmt::format("Doubling the answer makes the naive work {} times as large; 4 times only where "
                  "the answer is much longer than the prompt.",
                  fixed(counts.growth_if_doubled, 1)),
      "Attention: a step without a cache runs it for every position n of the sequence, n (n + 1) / "
      "2 in all; with one, only for the new token."};
}

Section count_section(const StaircaseAnswer& answer) {
  const Staircase& counts = answer.counts;
  Table table{
      .title = "", .columns = {{"Per layer and head", false}, {"Naive"}, {"KV cache"}}, .rows = {}};
  table.rows.push_back({"K/V computations (textbook)", printed::count(counts.naive_kv_computations),
                        printed::count(counts.cached_kv_computations)});
  table.rows.push_back({"waste factor", in(counts.waste_factor, 1, "x"), in(1, 0, "x")});
  table.rows.push_back({"attention positions in decode",
                        or_beyond(counts.naive_attention_positions),
                        printed::count(counts.attention_positions)});
  table.rows.push_back(
      {"  per generated token", "", printed::fixed(counts.mean_attention_positions, 1)});
  table.rows.push_back(
      {"attention positions in prefill", "", printed::count(answer.prefill_attention_positions)});
  return {.heading = fmt::format("Prompt of {} tokens, {} generated",
                                 with_separators(answer.inputs.prompt_tokens),
                                 with_separators(answer.inputs.generated_tokens)),
          .lines = derivation(answer),
          .table = std::move(table)};
}

/// The counts of the whole model.
Section model_section(const StaircaseAnswer& answer, const std::string& model) {
  const StaircaseOfModel& all = *answer.of_model;
  return {.heading = "",
          .lines = {fmt::format("In all {} KV heads of the {} layers of {}: {} K/V computations "
                                "without a cache, {} with one ({} per head, as many as a loop "
                                "needs). The factors per head hold for the whole model.",
                                with_separators(all.layer_heads), with_separators(all.layers),
                                model, or_beyond(all.naive_kv_computations).text,
                                or_beyond(all.needed_kv_computations).text,
                                with_separators(answer.counts.needed_kv_computations))},
          .table = {}};
}

/// Step by position: N where K and V are computed for the first time, r where again.
Section grid_section(const StaircaseGrid& grid) {
  Table table{.title = "The naive loop, step by position (N: new, r: redundant)",
              .columns = {{"Step"}},
              .rows = {}};
  for (std::size_t i = 0; i < grid.times_computed.size(); ++i) {
    table.columns.push_back({std::to_string(i)});
  }
  table.columns.push_back({"Computed"});
  table.columns.push_back({"Redundant"});
  StaircaseStep all;
  std::vector<Cell> times{"times"};
  for (const std::int64_t count : grid.times_computed)
    times.push_back(verbatim(std::to_string(count)));
  for (std::size_t i = 0; i < grid.steps.size(); ++i) {
    const StaircaseStep& step = grid.steps[i];
    std::vector<Cell> row{verbatim(std::to_string(i + 1))};
    for (std::int64_t position = 0; position < std::ssize(grid.times_computed); ++position) {
      const char* const mark = position < step.redundant ? "r" : "N";
      row.emplace_back(position < step.computed ? mark : "");
    }
    row.push_back(verbatim(std::to_string(step.computed)));
    row.push_back(verbatim(std::to_string(step.redundant)));
    table.rows.push_back(std::move(row));
    all.computed += step.computed;
    all.redundant += step.redundant;
  }
  times.push_back(verbatim(std::to_string(all.computed)));
  times.push_back(verbatim(std::to_string(all.redundant)));
  table.rows.push_back(std::move(times));
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

Table time_table(const StaircaseTimes& times) {
  Table table{.title = "", .columns = {{"Token"}, {"Naive"}, {"KV cache"}, {"Ratio"}}, .rows = {}};
  for (const std::size_t i : shown_tokens(times.naive.size())) {
    table.rows.push_back({printed::count(static_cast<std::int64_t>(i) + 1),
                          printed::time(times.naive[i]), printed::time(times.cached[i]),
                          in(times.naive[i] / times.cached[i], 1, "x")});
  }
  table.rows.push_back({"all", printed::time(times.naive_total), printed::time(times.cached_total),
                        in(times.naive_total / times.cached_total, 1, "x")});
  return table;
}

std::vector<std::string> time_lines(const TimedStaircase& times) {
  std::vector<std::string> lines{"With a cache, the first token is the prefill."};
  const auto naive = dollars_for(times.cost, times.tokens.naive_total);
  const auto cached = dollars_for(times.cost, times.tokens.cached_total);
  if (naive && cached) {
    lines.push_back(
        fmt::format("The answer costs ${:.2g} without a cache and ${:.2g} with one, with the GPUs "
                    "to itself ({}).",
                    *naive, *cached, price_words(times.cost)));
  }
  return lines;
}

/// "up to 1.2 ms": what a draft may take and still gain.
std::string paying(const FlattenedRow& row) {
  if (!row.break_even_pass) return "";
  return row.break_even_pass->value > 0 ? "up to " + as_time(*row.break_even_pass) : "never";
}

Section flattened_section(const StaircaseAnswer& answer) {
  const std::optional<Seconds>& draft_pass = answer.inputs.draft_pass;
  const TimedStaircase& times = *answer.times;
  const bool drafts = times.flattened.back().drafts > 0;
  const bool priced = times.cost.dollars_per_hour.has_value();
  Section section{
      .heading = "",
      .lines = {},
      .table = {.title = "Further speed-ups",
                .columns = {{"Batch"}, {"Drafts"}, {"Tokens per step"}, {"Step"}, {"Per token"}},
                .rows = {}}};
  if (drafts) section.table.columns.push_back({"A draft pays"});
  if (priced) section.table.columns.push_back({"$/M tokens"});
  section.table.columns.push_back({"Memory", false});
  for (const FlattenedRow& row : times.flattened) {
    std::vector<Cell> cells{printed::count(row.batch), printed::count(row.drafts),
                            printed::fixed(row.tokens_per_step, 2), printed::time(row.step),
                            printed::time(row.per_token)};
    if (drafts) cells.push_back(paying(row));
    if (priced) cells.push_back(printed::fixed(row.dollars_per_million_tokens.value_or(0), 2));
    cells.emplace_back(row.fits ? "fits" : "does not fit");
    section.table.rows.push_back(std::move(cells));
  }
  const std::string tokens =
      with_separators(answer.inputs.prompt_tokens + answer.inputs.generated_tokens);
  section.lines.push_back(
      times.max_batch == 0
          ? fmt::format("Does not fit: memory does not hold even one sequence of {} tokens; the "
                        "times assume a GPU with enough of it.",
                        tokens)
          : fmt::format("{} of {} tokens fit in memory at once.",
                        counted(times.max_batch, "sequence"), tokens));
  if (drafts) {
    section.lines.push_back(
        draft_pass
            ? fmt::format("Each draft takes {}, which is in the step.", as_time(*draft_pass))
            : "Drafting is assumed free, as for an n-gram lookup; --draft-pass-time adds the time "
              "of a draft model.");
  }
  return section;
}

}  // namespace

Document staircase_document(const StaircaseAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {count_section(answer)}};
  const StaircaseInputs& inputs = answer.inputs;
  if (answer.of_model) {
    document.sections.push_back(model_section(
        answer, inputs.deployment ? inputs.deployment->model : inputs.counted_model.value_or("")));
  }
  if (answer.grid) document.sections.push_back(grid_section(*answer.grid));
  if (!answer.times || !inputs.deployment) return document;
  document.sections.push_back({.heading = "Time per token: " + headline(*inputs.deployment),
                               .lines = time_lines(*answer.times),
                               .table = time_table(answer.times->tokens)});
  document.sections.push_back(flattened_section(answer));
  return document;
}

}  // namespace roofcast
