#include "reports/pages/figures/latency_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/distribution.hpp"
#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

constexpr int kPercentiles = 100;

/// Percentiles to draw: enough for a smooth curve, denser in the tail.
std::vector<double> drawn_percents() {
  constexpr int kTail = 95, kTailSteps = 8;  // steps for each percent
  std::vector<double> percents;
  for (int at = 0; at < kTail; ++at) percents.push_back(at);
  for (int at = kTail * kTailSteps; at <= kPercentiles * kTailSteps; ++at) {
    percents.push_back(static_cast<double>(at) / kTailSteps);
  }
  return percents;
}

FigureSeries curve_of(const LatencySample& sample, const TimeUnit& unit) {
  FigureSeries series{.name = sample.name.empty() ? "all requests" : sample.name};
  for (const double percent : drawn_percents()) {
    series.points.push_back({.x = unit.of(percentile(sample.values_s, percent)), .y = percent});
  }
  return series;
}

/// The percentiles that people name, as points on the curve.
FigureSeries percentiles_of(const LatencySample& sample, const TimeUnit& unit) {
  const double p50 = percentile(sample.values_s, 50);
  const double p95 = percentile(sample.values_s, 95);
  return {.name = fmt::format("p50 {}, p95 {}", as_time(Seconds{p50}), as_time(Seconds{p95})),
          .mark = Mark::points,
          .points = {{.x = unit.of(p50), .y = 50, .label = "p50: " + as_time(Seconds{p50})},
                     {.x = unit.of(p95), .y = 95, .label = "p95: " + as_time(Seconds{p95})}}};
}

/// Where the axis ends if some limit is so far beyond the longest latency that the curves would hug
/// the left edge; such limits are marked there. Nullopt: the axis holds all of them.
std::optional<double> edge_before(double longest_s, const std::vector<LatencyLimit>& limits) {
  constexpr double kFar = 2.5, kRoom = 1.2;
  const bool far = std::ranges::any_of(
      limits, [&](const LatencyLimit& limit) { return limit.limit_s > kFar * longest_s; });
  if (!far || longest_s <= 0) return std::nullopt;
  double end = kRoom * longest_s;
  for (const LatencyLimit& limit : limits) {
    if (limit.limit_s <= kFar * longest_s) end = std::max(end, limit.limit_s);
  }
  return end;
}

/// The least of these ends, times a power of ten, that is not below: an axis ends at a round
/// number.
double rounded_up(double value) {
  constexpr double kRounding = 1e-9;
  constexpr std::array kEnds = {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0};
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  const auto* enough = std::ranges::find_if(
      kEnds, [&](double step) { return step * power >= value * (1 - kRounding); });
  return enough == kEnds.end() ? 10 * power : *enough * power;
}

/// Percentiles and the maximum.
bool is_tabled(const DistributionStatistic& statistic) {
  return statistic.percent || statistic.value == &Distribution::max;
}

Table percentile_table(const std::vector<LatencySample>& samples) {
  Table table{.title = "", .columns = {{"Requests", false}, {"Count"}}, .rows = {}};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (is_tabled(statistic)) table.columns.push_back({statistic.name});
  }
  for (const LatencySample& sample : samples) {
    std::vector<Cell> row{sample.name.empty() ? "all" : sample.name,
                          printed::count(std::ssize(sample.values_s))};
    const Distribution distribution = distribution_of(sample.values_s);
    for (const DistributionStatistic& statistic : kDistributionStatistics) {
      if (!is_tabled(statistic)) continue;
      row.push_back(printed::time(Seconds{distribution.*statistic.value}));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

LatencyQuestion latency_question(LatencyMetric metric) {
  const char* words = metric == LatencyMetric::ttft   ? "Time to first token"
                      : metric == LatencyMetric::tpot ? "Time per output token after the first"
                                                      : "Time to last token";
  return {.key = std::string(name_of(metric)), .name = title_of(metric), .words = words};
}

std::optional<Figure> latency_figure(const LatencyQuestion& question,
                                     std::vector<LatencySample> samples,
                                     const std::vector<LatencyLimit>& limits) {
  std::erase_if(samples, [](const LatencySample& sample) { return sample.values_s.empty(); });
  if (samples.empty()) return std::nullopt;
  double longest = 0, min = samples.front().values_s.front();
  for (LatencySample& sample : samples) {
    std::sort(sample.values_s.begin(), sample.values_s.end());
    longest = std::max(longest, sample.values_s.back());
    min = std::min(min, sample.values_s.front());
  }
  const std::optional<double> edge = edge_before(longest, limits);
  for (const LatencyLimit& limit : limits) {
    longest = std::max(longest, std::min(limit.limit_s, edge.value_or(limit.limit_s)));
  }
  // A tail many times longer than the median would squeeze everything else.
  constexpr double kWide = 30;
  const bool wide = min > 0 && longest > kWide * percentile(samples.front().values_s, 50);
  const TimeUnit unit = unit_for(longest);
  Figure figure{.key = "latency_" + question.key,
                .title = question.words + " (" + question.name + ")",
                .caption = fmt::format(
                    "Share of finished requests whose {} was at most the value on the axis.{}",
                    question.name, limits.empty() ? "" : " Vertical lines: the SLO."),
                .x = {.title = with_unit(question.name, unit),
                      .scale = wide ? AxisScale::logarithmic : AxisScale::linear},
                .y = {.title = "requests (%)", .low = 0, .high = kPercentiles}};
  for (const LatencySample& sample : samples) figure.series.push_back(curve_of(sample, unit));
  if (samples.size() == 1) figure.series.push_back(percentiles_of(samples.front(), unit));
  const double end = edge ? rounded_up(unit.of(longest)) : unit.of(longest);
  if (edge) figure.x.high = end;
  for (const LatencyLimit& limit : limits) {
    const bool beyond = edge && limit.limit_s > longest;
    figure.marked.push_back({.axis = MarkedValue::Across::x,
                             .value = beyond ? end : unit.of(limit.limit_s),
                             .name = limit.name + (beyond ? " (beyond the axis)" : "")});
  }
  figure.table = percentile_table(samples);
  return figure;
}

}  // namespace roofcast
