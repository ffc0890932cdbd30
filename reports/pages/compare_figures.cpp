#include "reports/pages/compare_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/numbers.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {
namespace {

constexpr std::array<std::string_view, 5> kDrawn = {"mean", "p50", "p95", "p99", "value"};
constexpr double kMost =
    200;  // percent: a bar of a larger change would leave nothing of the others

bool is_drawn(const ComparedMetric& metric) {
  return more_is_better({metric.name, metric.statistic}).has_value() &&
         std::ranges::find(kDrawn, metric.statistic) != kDrawn.end();
}

std::string name_of(const ComparedRun& run) { return fmt::format("Run {}", run.id); }

Figure latencies_of(const CompareAnswer& answer) {
  Figure figure{.key = "compared_latencies",
                .title = "Latencies",
                .caption = "The same percentiles of every run; lower is better.",
                .x = {.title = "latency", .scale = AxisScale::category},
                .y = {.title = "time (ms)", .scale = AxisScale::logarithmic}};
  for (const ComparedRun& run : answer.runs) {
    figure.series.push_back({.name = name_of(run), .mark = Mark::points});
  }
  for (const ComparedMetric& metric : answer.metrics) {
    const MetricName name{metric.name, metric.statistic};
    if (!is_drawn(metric) || !is_time(name)) continue;
    const auto x = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(title_of(name));
    for (std::size_t i = 0; i < metric.values.size(); ++i) {
      const auto& value = metric.values[i];
      if (!value || *value <= 0) continue;
      figure.series[i].points.push_back(
          {.x = x, .y = *value * 1e3, .label = title_of(name) + ": " + metric_text(name, *value)});
    }
  }
  return figure;
}

Figure changes_of(const CompareAnswer& answer) {
  Figure figure{.key = "compared_changes",
                .title = fmt::format("Change from {} to {}", name_of(answer.runs[0]),
                                     name_of(answer.runs[1])),
                .caption = "What got better and what got worse.",
                .x = {.title = "figure", .scale = AxisScale::category},
                .y = {.title = "change (%)"},
                .series = {{.name = "better", .mark = Mark::stacked_bars},
                           {.name = "worse", .mark = Mark::stacked_bars}},
                .horizontal = true};
  bool cut = false;
  for (const ComparedMetric& metric : answer.metrics) {
    const auto& change = metric.changes[1];
    if (!is_drawn(metric) || !change) continue;
    const MetricName name{metric.name, metric.statistic};
    const auto x = static_cast<double>(figure.x.names.size());
    const bool better = *more_is_better(name) == (*change > 0);
    figure.x.names.push_back(title_of(name));
    cut = cut || *change * 100 > kMost;
    figure.series[better ? 0 : 1].points.push_back(
        {.x = x,
         .y = std::min(*change * 100, kMost),
         .label =
             fmt::format("{}: {}{}", title_of(name), *change > 0 ? "+" : "", as_percent(*change))});
  }
  if (cut) figure.caption += fmt::format(" Bars end at +{:g} %.", kMost);
  return figure;
}

bool has_points(const Figure& figure) {
  return std::ranges::any_of(figure.series,
                             [](const FigureSeries& series) { return !series.points.empty(); });
}

}  // namespace

std::vector<Figure> compare_figures(const CompareAnswer& answer) {
  std::vector<Figure> figures;
  if (answer.runs.size() == 2) figures.push_back(changes_of(answer));
  figures.push_back(latencies_of(answer));
  std::erase_if(figures, [](const Figure& figure) { return !has_points(figure); });
  return figures;
}

}  // namespace roofcast
