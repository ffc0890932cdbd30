#include "reports/pages/figures/compare_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/numbers.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {
namespace {

struct MetricKey {
  std::string_view name, statistic;
};

/// Metrics on which a choice between two runs rests, in the order in which they are drawn.
constexpr std::array<MetricKey, 9> kDrawn = {{{"ttft_s", "p50"},
                                              {"ttft_s", "p95"},
                                              {"tpot_s", "p50"},
                                              {"tpot_s", "p95"},
                                              {"e2e_s", "p50"},
                                              {"e2e_s", "p95"},
                                              {"output_tokens_per_s", "value"},
                                              {"cost_usd_per_h", "value"},
                                              {"cost_usd_per_million_output_tokens", "value"}}};
constexpr double kMost =
    200;  // percent: a bar of a larger change would leave nothing of the others

std::vector<const ComparedMetric*> drawn_of(const CompareAnswer& answer) {
  std::vector<const ComparedMetric*> drawn;
  for (const MetricKey& key : kDrawn) {
    const auto found = std::ranges::find_if(answer.metrics, [&](const ComparedMetric& metric) {
      return metric.name == key.name && metric.statistic == key.statistic;
    });
    if (found != answer.metrics.end()) drawn.push_back(&*found);
  }
  return drawn;
}

std::string name_of(const ComparedRun& run) { return fmt::format("Run {}", run.id); }

Figure latencies_of(const CompareAnswer& answer) {
  Figure figure{.key = "compared_latencies",
                .title = "Latencies",
                .caption = "The same figures of every run; lower is better.",
                .x = {.title = "latency", .scale = AxisScale::category},
                .y = {.title = "time (ms)", .scale = AxisScale::logarithmic}};
  for (const ComparedRun& run : answer.runs) {
    figure.series.push_back({.name = name_of(run), .mark = Mark::points});
  }
  for (const ComparedMetric* one : drawn_of(answer)) {
    const ComparedMetric& metric = *one;
    const MetricName name{metric.name, metric.statistic};
    if (!is_time(name)) continue;
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

/// "8.3 times" of +730 %.
std::string times_text(double change) {
  constexpr double kWhole = 10;
  return fixed(1 + change, change < kWhole ? 1 : 0) + " times";
}

Figure changes_of(const CompareAnswer& answer) {
  Figure figure{.key = "compared_changes",
                .title = fmt::format("Change from {} to {}", name_of(answer.runs[0]),
                                     name_of(answer.runs[1])),
                .x = {.title = "figure", .scale = AxisScale::category},
                .y = {.title = "change (%)"},
                .series = {{.name = "better", .mark = Mark::stacked_bars},
                           {.name = "worse", .mark = Mark::stacked_bars}},
                .horizontal = true};
  bool cut = false;
  for (const ComparedMetric* one : drawn_of(answer)) {
    const ComparedMetric& metric = *one;
    const auto& change = metric.changes[1];
    if (!change) continue;
    const MetricName name{metric.name, metric.statistic};
    const auto x = static_cast<double>(figure.x.names.size());
    const bool better = more_is_better(name).value_or(false) == (*change > 0);
    const bool beyond = *change * 100 > kMost;
    figure.x.names.push_back(title_of(name) + (beyond ? ": " + times_text(*change) : ""));
    cut = cut || beyond;
    figure.series[better ? 0 : 1].points.push_back(
        {.x = x,
         .y = std::min(*change * 100, kMost),
         .label =
             fmt::format("{}: {}{}", title_of(name), *change > 0 ? "+" : "", as_percent(*change))});
  }
  figure.caption = figure.series[0].points.empty()   ? "All of them got worse."
                   : figure.series[1].points.empty() ? "All of them got better."
                                                     : "What got better and what got worse.";
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
