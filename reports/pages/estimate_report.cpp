#include "reports/pages/estimate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/answers/estimate_sections.hpp"
#include "reports/pages/figures/figure_units.hpp"

namespace roofcast {
namespace {

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

}  // namespace

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
