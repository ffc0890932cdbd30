#include "reports/pages/estimate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/cost_cells.hpp"
#include "reports/pages/figure_units.hpp"

namespace roofcast {
namespace {

// ---- cells

Printed intensity_text(const PartAnswer& part) {
  return part.intensity ? printed::fixed(part.intensity->value, 1) : "-";
}

/// 33.1 and 0.066: three digits below 1.
Printed milliseconds(Seconds time) {
  const double ms = time.value * 1e3;
  return printed::fixed(ms, ms < 1 ? 3 : ms < 100 ? 2 : 1);
}

Printed percent(double share) { return printed::fixed(share * 100, 1); }

Printed gigabytes(Bytes bytes) { return printed::fixed(bytes.value / 1e9, 2); }

Printed batch_text(const std::optional<std::int64_t>& batch) {
  return batch ? printed::count(*batch) : "never";
}

std::string binding_text(const StepAnswer& step) {
  return fmt::format("{} {}", name_of(step.binding), as_percent(step.binding_share, 0));
}

// ---- tables

std::vector<Cell> step_cells(const StepAnswer& step) {
  return {milliseconds(step.time),
          printed::fixed(step.source.relative_uncertainty * 100, 0),
          milliseconds(step.lower_bound),
          printed::fixed(step.tokens_per_s, 1),
          intensity_text(step.products),
          intensity_text(step.attention),
          intensity_text(step.whole),
          binding_text(step),
          percent(step.mfu),
          percent(step.mbu)};
}

/// For a batch that does not fit.
std::vector<Cell> no_cells() {
  return {"-", "-", "-", "-", "-", "-", "-", "beyond memory", "-", "-"};
}

Table step_table(const BatchesAnswer& answer, const char* title, const char* rate,
                 StepAnswer PerStep<StepAnswer>::*step) {
  Table table{.title = title,
              .columns = {{"Batch"},
                          {"Prompt"},
                          {"K/V (GB)"},
                          {"Time (ms)"},
                          {"± (%)"},
                          {"Least (ms)"},
                          {rate},
                          {"Products"},
                          {"Attention"},
                          {"Step (FLOP/byte)"},
                          {"Binds", false},
                          {"MFU (%)"},
                          {"MBU (%)"}},
              .rows = {}};
  for (const BatchRow& row : answer.rows) {
    std::vector<Cell> cells{printed::count(row.batch), printed::count(row.input_tokens),
                            gigabytes(row.cache)};
    const auto more = row.summary ? step_cells((*row.summary).*step) : no_cells();
    cells.insert(cells.end(), more.begin(), more.end());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// ---- figures

using Value = std::function<std::optional<double>(const PerStep<StepAnswer>&)>;

/// Something drawn over the batches (or the prompt lengths), a line per prompt length if there are
/// several of both.
struct Drawn {
  std::string name{};
  Value value{};
};

bool over_batches(const BatchesAnswer& answer) { return answer.inputs.batches.size() > 1; }

FigureAxis batch_axis(const BatchesAnswer& answer) {
  return {.title = over_batches(answer) ? "sequences at once" : "prompt tokens",
          .scale = AxisScale::logarithmic};
}

FigureSeries series_of(const BatchesAnswer& answer, const Drawn& drawn,
                       std::optional<std::int64_t> input_tokens) {
  FigureSeries series{.name = drawn.name};
  for (const BatchRow& row : answer.rows) {
    if (!row.summary || (input_tokens && row.input_tokens != *input_tokens)) continue;
    const auto y = drawn.value(*row.summary);
    if (!y) continue;
    series.points.push_back({.x = to_double(over_batches(answer) ? row.batch : row.input_tokens),
                             .y = *y,
                             .label = fmt::format("{} of {}: {} {}", counted(row.batch, "sequence"),
                                                  counted(row.input_tokens, "prompt token"),
                                                  drawn.name, fixed(*y, *y < 1 ? 3 : 1))});
  }
  std::ranges::sort(series.points, {}, &FigurePoint::x);
  return series;
}

/// Marks where memory ends among the drawn batches.
void mark_memory(Figure& figure, const BatchesAnswer& answer) {
  if (!over_batches(answer)) return;
  const std::int64_t largest = std::ranges::max(answer.inputs.batches);
  for (const ContextAnswer& context : answer.contexts) {
    if (context.max_batch < 1 || context.max_batch >= largest) continue;
    figure.marked.push_back(
        {.axis = MarkedValue::Across::x,
         .value = to_double(context.max_batch),
         .name = fmt::format("memory ends: {} of {} tokens", with_separators(context.max_batch),
                             with_separators(context.context_tokens))});
  }
}

Figure figure_of(const BatchesAnswer& answer, Figure figure, const std::vector<Drawn>& drawn) {
  figure.x = batch_axis(answer);
  const bool several = over_batches(answer) && answer.contexts.size() > 1;
  for (const Drawn& one : drawn) {
    if (!several) {
      figure.series.push_back(series_of(answer, one, std::nullopt));
      continue;
    }
    for (const std::int64_t input : answer.inputs.input_tokens) {
      Drawn named = one;
      named.name += fmt::format(", {} tokens", with_separators(input));
      figure.series.push_back(series_of(answer, named, input));
    }
  }
  std::erase_if(figure.series, [](const FigureSeries& series) { return series.points.empty(); });
  mark_memory(figure, answer);
  return figure;
}

TimeUnit unit_of(const BatchesAnswer& answer, StepAnswer PerStep<StepAnswer>::*step) {
  double longest = 0;
  for (const BatchRow& row : answer.rows) {
    if (row.summary) longest = std::max(longest, ((*row.summary).*step).time.value);
  }
  return unit_for(longest);
}

Figure time_figure(const BatchesAnswer& answer, StepAnswer PerStep<StepAnswer>::*step,
                   const char* key, const std::string& title) {
  const TimeUnit unit = unit_of(answer, step);
  return figure_of(
      answer,
      {.key = key,
       .title = title,
       .caption = "The estimate, and the minimum time that the hardware allows: FLOPs at the dense "
                  "peak, or weights and KV cache read once at full bandwidth.",
       .y = {.title = with_unit(title, unit), .scale = AxisScale::logarithmic}},
      {{"estimate", [=](const auto& steps) { return unit.of((steps.*step).time.value); }},
       {"least", [=](const auto& steps) { return unit.of((steps.*step).lower_bound.value); }}});
}

Figure intensity_figure(const BatchesAnswer& answer, StepAnswer PerStep<StepAnswer>::*step,
                        const char* key, const std::string& title) {
  const auto of = [step](PartAnswer StepAnswer::*part) {
    return [=](const PerStep<StepAnswer>& steps) -> std::optional<double> {
      const auto& intensity = ((steps.*step).*part).intensity;
      if (!intensity || intensity->value <= 0) return std::nullopt;
      return intensity->value;
    };
  };
  Figure figure = figure_of(
      answer,
      {.key = key,
       .title = title,
       .caption = "FLOPs over bytes of the matrix products, of attention and of the whole step. "
                  "Above the ridge point the GPU is compute-bound, below it memory-bound.",
       .y = {.title = "arithmetic intensity (FLOP/byte)", .scale = AxisScale::logarithmic}},
      {{"products", of(&StepAnswer::products)},
       {"attention", of(&StepAnswer::attention)},
       {"whole step", of(&StepAnswer::whole)}});
  figure.marked.push_back({.axis = MarkedValue::Across::y,
                           .value = answer.ridge.value,
                           .name = "ridge " + fixed(answer.ridge.value, 0)});
  return figure;
}

Figure rate_figure(const BatchesAnswer& answer) {
  return figure_of(answer,
                   {.key = "estimate_rate",
                    .title = "Decoded tokens per second",
                    .caption = "All sequences together, once prefill is done.",
                    .y = {.title = "tokens/s", .scale = AxisScale::logarithmic}},
                   {{"decode", [](const auto& steps) { return steps.decode.tokens_per_s; }}});
}

Figure use_figure(const BatchesAnswer& answer) {
  constexpr double kPercent = 100;
  return figure_of(
      answer,
      {.key = "estimate_use",
       .title = "MFU and MBU",
       .caption = "Needed FLOPs over what the GPU computes at its dense peak, needed bytes over "
                  "what it moves at full bandwidth, both in the estimated time.",
       .y = {.title = "share of the datasheet (%)", .low = 0, .high = kPercent}},
      {{"MFU of prefill", [](const auto& steps) { return kPercent * steps.prefill.mfu; }},
       {"MBU of prefill", [](const auto& steps) { return kPercent * steps.prefill.mbu; }},
       {"MFU of decode", [](const auto& steps) { return kPercent * steps.decode.mfu; }},
       {"MBU of decode", [](const auto& steps) { return kPercent * steps.decode.mbu; }}});
}

std::string tokens_text(const BatchesInputs& inputs) {
  const auto [low, high] = std::ranges::minmax(inputs.input_tokens);
  const std::string prompts =
      low == high ? with_separators(low)
                  : fmt::format("{} to {}", with_separators(low), with_separators(high));
  return fmt::format("{} prompt and {} output tokens per sequence", prompts,
                     with_separators(inputs.output_tokens));
}

/// "A decode step is memory-bound at any batch: its products become compute-bound (above 206.1
/// FLOP/byte) from 219 sequences, attention never."
std::string compute_bound_text(const ComputeBoundBatches& batches, double ridge) {
  const auto from = [](const std::optional<std::int64_t>& batch) {
    return batch ? "from " + counted(*batch, "sequence") : std::string("never");
  };
  const std::string step = batches.step ? "becomes compute-bound " + from(batches.step) + " on"
                                        : "is memory-bound at any batch";
  return fmt::format(
      "A decode step {}: its products become compute-bound (above {} FLOP/byte) {}, attention {}.",
      step, fixed(ridge, 1), from(batches.products), from(batches.attention));
}

}  // namespace

Table parts_table(const EstimateAnswer& answer) {
  Table table{.title = "Products, attention and the whole step",
              .columns = {{"Part", false},
                          {"Time"},
                          {"Share"},
                          {"GFLOP"},
                          {"MB"},
                          {"FLOP/byte"},
                          {"Roofline", false},
                          {"Compute-bound from"}},
              .rows = {}};
  const auto add = [&](const std::string& name, const PartAnswer& part, Seconds step,
                       const Cell& from) {
    if (part.time.value <= 0) return;
    table.rows.push_back({name, printed::time(part.time), printed::percent(part.time / step),
                          printed::fixed(part.flops.value / 1e9, 2),
                          printed::fixed(part.bytes.value / 1e6, 2), intensity_text(part),
                          part.compute_bound ? "compute" : "memory", from});
  };
  const auto sequences = [](const std::optional<std::int64_t>& batch) {
    return batch ? followed(printed::count(*batch), *batch == 1 ? " sequence" : " sequences")
                 : Cell("never");
  };
  const StepAnswer& prefill = answer.summary.prefill;
  add("prefill: products", prefill.products, prefill.whole.time, "");
  add("prefill: attention", prefill.attention, prefill.whole.time, "");
  add("prefill: whole step", prefill.whole, prefill.whole.time, "");
  const StepAnswer& decode = answer.summary.decode;
  const ComputeBoundBatches& from = answer.compute_bound;
  add("decode: products", decode.products, decode.whole.time, sequences(from.products));
  add("decode: attention", decode.attention, decode.whole.time, sequences(from.attention));
  add("decode: whole step", decode.whole, decode.whole.time, sequences(from.step));
  return table;
}

Table context_table(const BatchesAnswer& answer) {
  Table table{.title = "Where memory ends, and from which batch on decoding is compute-bound",
              .columns = {{"Prompt"},
                          {"Full length"},
                          {"K/V each (GB)"},
                          {"Largest batch"},
                          {"Products"},
                          {"Attention"},
                          {"Whole step"}},
              .rows = {}};
  for (const ContextAnswer& context : answer.contexts) {
    const ComputeBoundBatches& from = context.compute_bound;
    table.rows.push_back({printed::count(context.input_tokens),
                          printed::count(context.context_tokens),
                          printed::fixed(context.cache_per_sequence.value / 1e9, 3),
                          printed::count(context.max_batch), batch_text(from.products),
                          batch_text(from.attention), batch_text(from.step)});
  }
  return table;
}

Table decode_table(const BatchesAnswer& answer) {
  return step_table(answer, "Decode step", "Tokens/s", &PerStep<StepAnswer>::decode);
}

Table prefill_table(const BatchesAnswer& answer) {
  return step_table(answer, "Prefill of the whole batch", "Tokens/s",
                    &PerStep<StepAnswer>::prefill);
}

Table batch_cost_table(const BatchesAnswer& answer) {
  Table table{.title = "Cost and power while a batch runs, prefill included",
              .columns = {{"Batch"}, {"Prompt"}},
              .rows = {}};
  add_cost_columns(table);
  for (const BatchRow& row : answer.rows) {
    table.rows.push_back({printed::count(row.batch), printed::count(row.input_tokens)});
    add_cost_cells(table.rows.back(), row.cost);
  }
  return table;
}

std::vector<std::string> batch_sentences(const BatchesAnswer& answer) {
  std::vector<std::string> lines{tokens_text(answer.inputs)};
  if (!is_yes(answer))
    lines.emplace_back("None of these batches fits in memory (roofcast memory).");
  const std::int64_t largest = std::ranges::max(answer.inputs.batches);
  if (largest > answer.max_num_seqs) {
    lines.push_back(fmt::format("The scheduler runs {} at once (--max-num-seqs).",
                                counted(answer.max_num_seqs, "sequence")));
  }
  if (answer.contexts.size() == 1) {
    lines.push_back(compute_bound_text(answer.contexts.front().compute_bound, answer.ridge.value));
  } else {
    lines.push_back(
        fmt::format("The ridge point is at {} FLOP/byte.", fixed(answer.ridge.value, 1)));
  }
  return lines;
}

std::vector<Figure> estimate_figures(const BatchesAnswer& answer) {
  if (!is_yes(answer)) return {};
  using Steps = PerStep<StepAnswer>;
  return {time_figure(answer, &Steps::decode, "estimate_decode", "Decode step"),
          rate_figure(answer),
          intensity_figure(answer, &Steps::decode, "estimate_decode_intensity",
                           "Intensity of a decode step"),
          use_figure(answer),
          time_figure(answer, &Steps::prefill, "estimate_prefill", "Prefill"),
          intensity_figure(answer, &Steps::prefill, "estimate_prefill_intensity",
                           "Intensity of prefill")};
}

Report estimate_report(const BatchesAnswer& answer) {
  const std::vector<std::string> sentences = batch_sentences(answer);
  Report report{
      .title = "What a batch does: " + headline(answer.inputs.deployment),
      .answer = fmt::format("{}: {}.", headline(answer.inputs.deployment), sentences.front()),
      .footer = "Roofcast " + answer.head.tool_version,
      .machine = to_json(answer)};
  for (std::size_t i = 1; i < sentences.size(); ++i) report.answer += " " + sentences[i];
  report.sections.push_back({.heading = "Batches",
                             .figures = estimate_figures(answer),
                             .tables = {context_table(answer), decode_table(answer),
                                        prefill_table(answer), batch_cost_table(answer)}});
  return report;
}

}  // namespace roofcast
