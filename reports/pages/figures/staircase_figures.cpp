#include "reports/pages/figures/staircase_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/figures/thinned.hpp"
#include "reports/pages/figures/figure_units.hpp"

namespace roofcast {
namespace {

FigureSeries series_of(const std::string& name, const std::vector<Seconds>& times,
                       const TimeUnit& unit) {
  FigureSeries series{.name = name};
  for (std::size_t i = 0; i < times.size(); ++i) {
    series.points.push_back({.x = static_cast<double>(i + 1), .y = unit.of(times[i].value)});
  }
  series.points = thinned(std::move(series.points));
  return series;
}

std::vector<Seconds> summed(std::vector<Seconds> times) {
  for (std::size_t i = 1; i < times.size(); ++i) times[i] += times[i - 1];
  return times;
}

/// The first tokens, then fewer and fewer, and the last.
Table staircase_table(const std::vector<Seconds>& naive, const std::vector<Seconds>& cached) {
  Table table{.title = "",
              .columns = {{"Token"}, {"Without a cache"}, {"With a KV cache"}, {"Ratio"}},
              .rows = {}};
  const auto add = [&](std::size_t i) {
    table.rows.push_back({printed::count(static_cast<std::int64_t>(i) + 1), printed::time(naive[i]),
                          printed::time(cached[i]), in(naive[i] / cached[i], 1, "x")});
  };
  for (std::size_t i = 1; i < naive.size(); i *= 2) add(i - 1);
  add(naive.size() - 1);
  return table;
}

}  // namespace

std::vector<Figure> staircase_figures(const StaircaseAnswer& answer) {
  if (!answer.times || answer.times->tokens.naive.empty()) return {};
  const StaircaseTimes& times = answer.times->tokens;
  const std::string sequence =
      fmt::format("One sequence of {} and {}", counted(answer.inputs.prompt_tokens, "prompt token"),
                  counted(answer.inputs.generated_tokens, "generated token"));
  const auto longest = [](const std::vector<Seconds>& of) {
    return std::max_element(of.begin(), of.end())->value;
  };
  const TimeUnit unit = unit_for(longest(times.naive));
  Figure each{.key = "staircase_token",
              .title = "The staircase: time of each token",
              .caption = sequence +
                         ": without a KV cache, every token recomputes the whole sequence; with "
                         "one, only itself. The first token of both is the prefill of the prompt.",
              .x = {.title = "generated token"},
              .y = {.title = with_unit("time of the token", unit), .low = 0}};
  each.series = {series_of("without a cache (naive)", times.naive, unit),
                 series_of("with a KV cache", times.cached, unit)};
  each.table = staircase_table(times.naive, times.cached);
  const std::vector<Seconds> naive = summed(times.naive), cached = summed(times.cached);
  const TimeUnit whole = unit_for(naive.back().value);
  Figure total{
      .key = "staircase_total",
      .title = "The staircase: time until each token",
      .caption = fmt::format("{} takes {} without a KV cache and {} with one: {}x.", sequence,
                             as_time(times.naive_total), as_time(times.cached_total),
                             fixed(times.naive_total / times.cached_total, 1)),
      .x = {.title = "generated tokens"},
      .y = {.title = with_unit("time until the token", whole), .low = 0}};
  total.series = {series_of("without a cache (naive)", naive, whole),
                  series_of("with a KV cache", cached, whole)};
  total.table = staircase_table(naive, cached);
  return {std::move(each), std::move(total)};
}

}  // namespace roofcast
