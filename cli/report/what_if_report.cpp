#include "cli/report/what_if_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/report/simulation_report.hpp"
#include "reports/figures/figure_table.hpp"

namespace roofcast {
namespace {

std::optional<double> value_of(const Run& run, const std::string& name,
                               const std::string& statistic) {
  for (const MetricRow& metric : run.metrics) {
    if (metric.name == name && metric.statistic == statistic) return metric.value;
  }
  return std::nullopt;
}

/// Runs of one command follow each other in the store: the baseline, then its variants.
std::vector<Run> siblings(const Store& store, const Run& run) {
  std::vector<std::int64_t> ids;
  for (const RunRow& row : store.runs()) {
    if (row.kind == "whatif" && row.command_line == run.row.command_line &&
        row.created_at.substr(0, 10) == run.row.created_at.substr(0, 10)) {
      ids.push_back(row.id);
    }
  }
  std::sort(ids.begin(), ids.end());
  // The block of neighbours that this run is in: the command may have been given twice.
  const auto here = std::find(ids.begin(), ids.end(), run.row.id);
  auto begin = here, end = here;
  const auto is_baseline = [&](std::int64_t id) {
    return store.run(id)->row.summary.starts_with("baseline");
  };
  while (begin != ids.begin() && !is_baseline(*begin) && *(begin - 1) == *begin - 1) --begin;
  while (end + 1 < ids.end() && *(end + 1) == *end + 1 && !is_baseline(*(end + 1))) ++end;
  std::vector<Run> runs;
  for (auto id = begin; id <= end && id != ids.end(); ++id) runs.push_back(*store.run(*id));
  return runs;
}

/// "tp=2: TTFT p95 412 ms (...)" begins with the variant.
std::string name_of(const Run& run) {
  return run.row.summary.substr(0, run.row.summary.find(": "));
}

/// Metrics that some variant has a difference of, in their order.
std::vector<MetricRow> compared(const std::vector<Run>& runs) {
  constexpr std::string_view kDifference = "_difference";
  std::vector<MetricRow> found;
  for (const Run& run : runs) {
    for (const MetricRow& metric : run.metrics) {
      if (!metric.statistic.ends_with(kDifference)) continue;
      const std::string statistic =
          metric.statistic.substr(0, metric.statistic.size() - kDifference.size());
      const bool known = std::any_of(found.begin(), found.end(), [&](const MetricRow& other) {
        return other.name == metric.name && other.statistic == statistic;
      });
      if (!known) found.push_back({metric.name, statistic, 0});
    }
  }
  return found;
}

Figure metric_figure(const std::vector<Run>& runs, const MetricRow& metric) {
  const std::string title =
      metric.statistic == "value" ? metric.name : metric.name + " " + metric.statistic;
  Figure figure{.key = fmt::format("what_if_{}_{}", metric.name, metric.statistic),
                .title = title,
                .caption =
                    "Mean over seeds by variant; whiskers: the 95 % interval of the "
                    "difference from the baseline.",
                .x = {.title = "variant", .scale = AxisScale::category},
                .y = {.title = title},
                .table = {.title = "",
                          .columns = {{"Variant", false},
                                      {"Value"},
                                      {"Difference"},
                                      {"Low"},
                                      {"High"},
                                      {"More than chance", false}},
                          .rows = {}}};
  FigureSeries series{.name = title, .mark = Mark::points};
  const auto shown = [](const std::optional<double>& value) {
    return value ? figure_number(*value) : std::string("-");
  };
  for (const Run& run : runs) {
    const auto x = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(name_of(run));
    const auto value = value_of(run, metric.name, metric.statistic);
    const auto difference = value_of(run, metric.name, metric.statistic + "_difference");
    const auto low = value_of(run, metric.name, metric.statistic + "_difference_low");
    const auto high = value_of(run, metric.name, metric.statistic + "_difference_high");
    const bool sure = low && high && (*low > 0 || *high < 0);
    figure.table.rows.push_back({figure.x.names.back(), shown(value), shown(difference), shown(low),
                                 shown(high),
                                 !low   ? ""
                                 : sure ? "yes"
                                        : "no"});
    if (!value) continue;
    FigurePoint point{.x = x, .y = *value, .label = figure.x.names.back() + ": " + shown(value)};
    if (difference && low && high) {
      point.low = *value - *difference + *low;
      point.high = *value - *difference + *high;
    }
    series.points.push_back(std::move(point));
  }
  figure.series = {std::move(series)};
  return figure;
}

}  // namespace

Report what_if_report(const Store& store, const Run& run) {
  const std::vector<Run> runs = siblings(store, run);
  Report report = stored_report(run);
  report.title = fmt::format("What if: {} on {}", run.row.model, run.row.gpu);
  ReportSection differences{.heading = "What each change does"};
  for (const MetricRow& metric : compared(runs)) {
    Figure figure = metric_figure(runs, metric);
    if (!figure.series.front().points.empty()) differences.figures.push_back(std::move(figure));
  }
  Table variants{.title = "Variants", .columns = {{"Run"}, {"Result", false}}, .rows = {}};
  for (const Run& one : runs)
    variants.rows.push_back({std::to_string(one.row.id), one.row.summary});
  differences.tables.push_back(std::move(variants));
  report.sections.insert(report.sections.begin(), std::move(differences));
  return report;
}

}  // namespace roofcast
