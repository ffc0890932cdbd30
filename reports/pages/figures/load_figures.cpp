#include "reports/pages/figures/load_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/figures/figure_units.hpp"

namespace roofcast {
namespace {

struct LatencyOf {
  const char* key;
  const char* name;
  LatencyMetric metric;
  Distribution LoadPoint::*distribution;
};

FigureSeries series_of(std::span<const CapacityPoint> points, const LatencyOf& latency,
                       double Distribution::*percentile, const TimeUnit& unit) {
  FigureSeries series;
  for (const CapacityPoint& point : points) {
    const Distribution& distribution = point.*latency.distribution;
    if (distribution.mean <= 0) continue;
    const double value = distribution.*percentile;
    series.points.push_back(
        {.x = point.output_tokens_per_s,
         .y = unit.of(value),
         .label =
             fmt::format("{}: {} tokens/s, {} {}{}", load_text(point.kind, point.load),
                         fixed(point.output_tokens_per_s, 0), latency.name, as_time(Seconds{value}),
                         point.verdict.holds ? "" : " (SLO missed)")});
  }
  return series;
}

Table load_table(std::span<const CapacityPoint> points) {
  const bool rate = points.front().kind == LoadKind::rate;
  const char* load = rate ? "Offered (requests/s)" : "In flight (requests)";
  Table table{.title = "",
              .columns = {{load},
                          {"Served (requests/s)"},
                          {"Output tokens/s"},
                          {"TTFT p50"},
                          {"TTFT p95"},
                          {"TPOT p50"},
                          {"TPOT p95"},
                          {"KV peak"},
                          {"SLO", false}},
              .rows = {}};
  for (const CapacityPoint& point : points) {
    table.rows.push_back(
        {printed::fixed(point.load, rate ? 2 : 0), printed::fixed(point.request_rate_per_s, 2),
         printed::fixed(point.output_tokens_per_s, 0), printed::time(Seconds{point.ttft.p50}),
         printed::time(Seconds{point.ttft.p95}), printed::time(Seconds{point.tpot.p50}),
         printed::time(Seconds{point.tpot.p95}), printed::percent(point.use.peak_kv_use),
         point.verdict.holds ? "met" : binding_words(point.verdict)});
  }
  return table;
}

/// The SLO's limits, at every percentile and of all classes.
void mark_limits(Figure& figure, const Slo& slo, LatencyMetric metric, const TimeUnit& unit) {
  const auto mark = [&](const std::vector<PercentileTarget>& targets, const std::string& whose) {
    for (const PercentileTarget& target : targets) {
      if (target.metric != metric) continue;
      figure.marked.push_back({.axis = MarkedValue::Across::y,
                               .value = unit.of(target.limit.value),
                               .name = fmt::format("SLO: p{:g}{} ≤ {}", target.percentile, whose,
                                                   limit_words(target.limit))});
    }
  };
  mark(slo.targets, "");
  for (const SloClass& one : slo.classes) mark(one.targets, " of " + one.name);
}

}  // namespace

std::string load_text(LoadKind kind, double load) {
  if (kind == LoadKind::rate) return fixed(load, 2) + " requests/s";
  return counted(static_cast<std::int64_t>(load), "request") + " in flight";
}

std::vector<Figure> load_figures(const Slo& slo, std::span<const CapacityPoint> points) {
  constexpr LatencyOf kShown[] = {{"ttft", "TTFT", LatencyMetric::ttft, &LoadPoint::ttft},
                                  {"tpot", "TPOT", LatencyMetric::tpot, &LoadPoint::tpot}};
  std::vector<Figure> figures;
  for (const LatencyOf& latency : kShown) {
    double longest = 0, min = 0;
    for (const CapacityPoint& point : points) {
      longest = std::max(longest, (point.*latency.distribution).p95);
      const double median = (point.*latency.distribution).p50;
      if (median > 0) min = min > 0 ? std::min(min, median) : median;
    }
    if (longest <= 0) continue;
    // Beyond saturation, latency grows with the length of the run.
    constexpr double kWide = 20;
    const bool wide = min > 0 && longest > kWide * min;
    const TimeUnit unit = unit_for(longest);
    Figure figure{.key = fmt::format("load_{}", latency.key),
                  .title = fmt::format("Throughput against {}", latency.name),
                  .caption =
                      "The same requests at higher and lower rates: each point is a simulation at "
                      "another load; the curve turns up where the engine saturates.",
                  .x = {.title = "output throughput (tokens/s)"},
                  .y = {.title = with_unit(latency.name, unit),
                        .scale = wide ? AxisScale::logarithmic : AxisScale::linear}};
    if (!wide) figure.y.low = 0;
    figure.series = {series_of(points, latency, &Distribution::p50, unit),
                     series_of(points, latency, &Distribution::p95, unit)};
    figure.series[0].name = "p50";
    figure.series[1].name = "p95";
    mark_limits(figure, slo, latency.metric, unit);
    // The first figure's table holds all latencies.
    if (figures.empty()) figure.table = load_table(points);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace roofcast
