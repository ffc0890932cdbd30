#include "reports/pages/figures/stored_figures.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/quantity.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/figures/latency_figures.hpp"
#include "reports/request_latencies.hpp"

namespace roofcast {
namespace {

/// Percentiles of a metric, "p95" and the like, as bars.
std::optional<Figure> percentile_figure(const Run& stored, const LatencyQuestion& question) {
  Figure figure{.key = "latency_" + question.key,
                .title = question.words + " (" + question.name + ")",
                .caption = "The stored percentiles; the requests were not kept.",
                .x = {.title = "percentile of the requests", .scale = AxisScale::category},
                .y = {.low = 0}};
  FigureSeries series{.name = question.name, .mark = Mark::bars};
  double longest = 0;
  for (const MetricRow& metric : stored.metrics) {
    const std::string& text = metric.statistic;
    if (metric.name != question.key + "_s" || !text.starts_with('p')) continue;
    // Skips what-if statistics such as "p95_difference": they are not percentiles of requests.
    if (!to_number<double>(std::string_view(text).substr(1))) continue;
    longest = std::max(longest, metric.value);
    series.points.push_back({.x = static_cast<double>(figure.x.names.size()), .y = metric.value});
    figure.x.names.push_back(text);
  }
  if (series.points.empty()) return std::nullopt;
  const TimeUnit unit = unit_for(longest);
  for (FigurePoint& point : series.points) point.y = unit.of(point.y);
  figure.y.title = with_unit(question.name, unit);
  figure.series = {std::move(series)};
  return figure;
}

/// A loop of a measured staircase: the stored tokens with their quartiles, in seconds.
FigureSeries measured_loop(const Run& stored, const std::string& metric, const std::string& name) {
  constexpr std::string_view kToken = "token_";
  FigureSeries series{.name = name};
  const auto value_of = [&](const std::string& statistic) -> std::optional<double> {
    for (const MetricRow& row : stored.metrics) {
      if (row.name == metric && row.statistic == statistic) return row.value;
    }
    return std::nullopt;
  };
  for (const MetricRow& row : stored.metrics) {
    if (row.name != metric || !row.statistic.starts_with(kToken)) continue;
    const auto token = to_number<double>(std::string_view(row.statistic).substr(kToken.size()));
    if (!token) continue;  // a quartile
    series.points.push_back({.x = *token,
                             .y = row.value,
                             .low = value_of(row.statistic + "_p25"),
                             .high = value_of(row.statistic + "_p75")});
  }
  return series;
}

/// The staircase of `roofcast measure --naive`; nullopt for any other run.
std::optional<Figure> staircase_figure(const Run& stored) {
  Figure figure{.key = "measured_staircase",
                .title = "The staircase, measured: time of each token",
                .caption =
                    "Without a KV cache every token recomputes the whole sequence; with one, "
                    "only itself. Medians of the repeats; whiskers: their quartiles. The "
                    "first token of both is the prefill of the prompt.",
                .x = {.title = "generated token"},
                .y = {.low = 0}};
  figure.series = {measured_loop(stored, "naive_token_s", "without a cache (naive)"),
                   measured_loop(stored, "cached_token_s", "with a KV cache")};
  double longest = 0;
  for (const FigureSeries& series : figure.series) {
    if (series.points.empty()) return std::nullopt;
    for (const FigurePoint& point : series.points) {
      longest = std::max(longest, point.high.value_or(point.y));
    }
  }
  const TimeUnit unit = unit_for(longest);
  for (FigureSeries& series : figure.series) {
    for (FigurePoint& point : series.points) {
      point.y = unit.of(point.y);
      if (point.low) point.low = unit.of(*point.low);
      if (point.high) point.high = unit.of(*point.high);
    }
  }
  figure.y.title = with_unit("time of the token", unit);
  return figure;
}

}  // namespace

std::vector<Figure> stored_figures(const Run& stored) {
  std::vector<Figure> figures;
  for (const LatencyMetric metric : kDrawnLatencies) {
    const LatencyQuestion question = latency_question(metric);
    const auto* latency =
        std::ranges::find(kStoredLatencies, question.key + "_s", &StoredLatency::name);
    LatencySample sample;
    for (const RequestRow& row : stored.requests) {
      if (const auto value = latency->of(row)) sample.values_s.push_back(*value);
    }
    auto figure = sample.values_s.empty() ? percentile_figure(stored, question)
                                          : latency_figure(question, {std::move(sample)}, {});
    if (figure) figures.push_back(*std::move(figure));
  }
  if (auto figure = staircase_figure(stored)) figures.push_back(*std::move(figure));
  return figures;
}

}  // namespace roofcast
