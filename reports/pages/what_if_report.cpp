#include "reports/pages/what_if_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/figure_units.hpp"
#include "reports/pages/stored_report.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {
namespace {

std::optional<double> value_of(const Run& run, const std::string& name,
                               const std::string& statistic) {
  for (const MetricRow& metric : run.metrics) {
    if (metric.name == name && metric.statistic == statistic) return metric.value;
  }
  return std::nullopt;
}

bool is_baseline(const RunRow& row) { return row.summary.starts_with("baseline"); }

/// Runs of one command are consecutive in the store: the baseline, then its variants. The command
/// may have been run several times.
std::vector<Run> siblings(const Store& store, const Run& run) {
  std::vector<RunRow> rows = store.runs();
  std::erase_if(rows, [&](const RunRow& row) {
    return row.kind != "whatif" || row.command_line != run.row.command_line;
  });
  std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) { return a.id < b.id; });
  const auto here = std::find_if(rows.begin(), rows.end(),
                                 [&](const RunRow& row) { return row.id == run.row.id; });
  auto begin = here, end = here + 1;
  while (begin != rows.begin() && !is_baseline(*begin) && (begin - 1)->id == begin->id - 1) --begin;
  while (end != rows.end() && end->id == (end - 1)->id + 1 && !is_baseline(*end)) ++end;
  std::vector<Run> runs;
  for (auto row = begin; row != end; ++row) runs.push_back(*store.run(row->id));
  return runs;
}

/// The variant is the start of the summary: "tp=2: TTFT p95 412 ms (...)".
std::string name_of(const Run& run) {
  if (is_baseline(run.row)) return "baseline";
  return run.row.summary.substr(0, run.row.summary.find(": "));
}

/// Metrics for which some variant has a difference, the headline metric first.
std::vector<MetricName> compared(const std::vector<Run>& runs) {
  constexpr std::string_view kDifference = "_difference";
  std::vector<MetricName> found;
  for (const Run& run : runs) {
    for (const MetricRow& metric : run.metrics) {
      if (!metric.statistic.ends_with(kDifference)) continue;
      const MetricName name{
          metric.name, metric.statistic.substr(0, metric.statistic.size() - kDifference.size())};
      if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
    }
  }
  const std::string& summary = runs.front().row.summary;
  std::stable_partition(found.begin(), found.end(), [&](const MetricName& metric) {
    return summary.find(": " + title_of(metric) + " ") != std::string::npos;
  });
  return found;
}

std::optional<double> value_of(const Run& run, const MetricName& metric, const char* which = "") {
  return value_of(run, metric.name, metric.statistic + which);
}

/// A row of the figure's table: value, difference and its interval.
std::vector<std::string> row_of(const Run& run, const MetricName& metric) {
  const auto difference = value_of(run, metric, "_difference");
  const auto low = value_of(run, metric, "_difference_low");
  const auto high = value_of(run, metric, "_difference_high");
  const auto shown = [&](const std::optional<double>& value) {
    return value ? difference_text(metric, *value) : std::string("-");
  };
  const auto value = value_of(run, metric);
  const bool sure = low && high && (*low > 0 || *high < 0);
  return {name_of(run),      value ? metric_text(metric, *value) : "-",
          shown(difference), shown(low),
          shown(high),       !low ? "" : sure ? "yes" : "no"};
}

/// The whisker is the interval of the difference, shifted to the value.
std::optional<FigurePoint> point_of(const Run& run, const MetricName& metric) {
  const auto value = value_of(run, metric);
  if (!value) return std::nullopt;
  FigurePoint point{.y = *value, .label = name_of(run) + ": " + metric_text(metric, *value)};
  const auto difference = value_of(run, metric, "_difference");
  const auto low = value_of(run, metric, "_difference_low");
  const auto high = value_of(run, metric, "_difference_high");
  if (difference && low && high) {
    point.low = *value - *difference + *low;
    point.high = *value - *difference + *high;
  }
  return point;
}

/// Converts to `unit`.
void scale(FigureSeries& series, const TimeUnit& unit) {
  for (FigurePoint& point : series.points) {
    point.y = unit.of(point.y);
    if (point.low) point.low = unit.of(*point.low);
    if (point.high) point.high = unit.of(*point.high);
  }
}

Figure metric_figure(const std::vector<Run>& runs, const MetricName& metric) {
  Figure figure{.key = fmt::format("what_if_{}_{}", metric.name, metric.statistic),
                .title = title_of(metric),
                .caption =
                    "Mean over seeds by variant; whiskers: the 95 % interval of the "
                    "difference from the baseline.",
                .x = {.title = "variant", .scale = AxisScale::category},
                .y = {.title = title_of(metric), .low = 0},
                .horizontal = true,
                .table = {.title = "",
                          .columns = {{"Variant", false},
                                      {"Value"},
                                      {"Difference"},
                                      {"Low"},
                                      {"High"},
                                      {"Significant", false}},
                          .rows = {}}};
  FigureSeries series{.name = title_of(metric), .mark = Mark::points};
  double max = 0;
  for (const Run& run : runs) {
    const auto x = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(name_of(run));
    figure.table.rows.push_back(row_of(run, metric));
    auto point = point_of(run, metric);
    if (!point) continue;
    point->x = x;
    max = std::max(max, point->high.value_or(point->y));
    if (point->y < 0) figure.y.low.reset();
    series.points.push_back(*std::move(point));
  }
  if (is_time(metric)) {
    const TimeUnit unit = unit_for(max);
    scale(series, unit);
    figure.y.title = with_unit(title_of(metric), unit);
  }
  figure.series = {std::move(series)};
  return figure;
}

// ---- the answer

bool more_is_better(const MetricName& metric) { return metric.name.ends_with("_per_s"); }

/// The variant that is best in a metric; the first of several equal ones.
const Run* best_of(const std::vector<Run>& runs, const MetricName& metric) {
  const Run* best = nullptr;
  for (const Run& run : runs) {
    const auto value = value_of(run, metric);
    if (!value) continue;
    const auto max = best == nullptr ? std::nullopt : value_of(*best, metric);
    if (!max || (more_is_better(metric) ? *value > *max : *value < *max)) best = &run;
  }
  return best;
}

/// Whether the SLO held: the store has the share of seeds in which it did.
std::string held_text(const std::optional<double>& share) {
  if (!share) return "";
  if (*share >= 1) return "met";
  return *share > 0 ? fmt::format("met in {} of the seeds", as_percent(*share, 0)) : "missed";
}

/// " 3 of 4 hold the SLO."; empty without an SLO.
std::string slo_text(const std::vector<Run>& runs) {
  std::int64_t promised = 0, met = 0;
  for (const Run& run : runs) {
    const auto value = value_of(run, "slo_met", "value");
    promised += value ? 1 : 0;
    met += value && *value >= 1 ? 1 : 0;
  }
  if (promised == 0) return "";
  return fmt::format(" {} of {} meet the SLO.", met, counted(promised, "variant"));
}

/// For a difference whose interval contains 0.
std::string chance_text(const Run& run, const MetricName& metric) {
  const auto low = value_of(run, metric, "_difference_low");
  const auto high = value_of(run, metric, "_difference_high");
  if (!low || !high || *low > 0 || *high < 0) return "";
  return ", which may be chance: the 95 % interval of the difference contains 0";
}

std::string answer_of(const std::vector<Run>& runs, const MetricName& metric) {
  const RunRow& base = runs.front().row;
  const std::string of = fmt::format("{} to {} on {}", counted(std::ssize(runs) - 1, "change"),
                                     base.model, gpu_title(base.gpu));
  const Run* best = best_of(runs, metric);
  const auto before = value_of(runs.front(), metric);
  if (best == nullptr || !before) return base.summary;
  if (is_baseline(best->row)) {
    return fmt::format("None of {} improves its {} of {}.{}", of, title_of(metric),
                       metric_text(metric, *before), slo_text(runs));
  }
  return fmt::format("Of {}, {} improves {} most: {} instead of {}{}.{}", of, name_of(*best),
                     title_of(metric), metric_text(metric, *value_of(*best, metric)),
                     metric_text(metric, *before), chance_text(*best, metric), slo_text(runs));
}

/// One row per variant with every compared metric.
Table variant_table(const std::vector<Run>& runs, const std::vector<MetricName>& metrics) {
  Table table{.title = "Variants", .columns = {{"Variant", false}}, .rows = {}};
  for (const MetricName& metric : metrics) table.columns.push_back({title_of(metric)});
  table.columns.push_back({"SLO", false});
  table.columns.push_back({"Run"});
  for (const Run& run : runs) {
    std::vector<std::string> cells{name_of(run)};
    for (const MetricName& metric : metrics) {
      const auto value = value_of(run, metric);
      cells.push_back(value ? metric_text(metric, *value) : "-");
    }
    cells.push_back(held_text(value_of(run, "slo_met", "value")));
    cells.push_back(std::to_string(run.row.id));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

Report what_if_report(const Store& store, const Run& run) {
  const std::vector<Run> runs = siblings(store, run);
  const std::vector<MetricName> metrics = compared(runs);
  const RunRow& base = runs.front().row;
  Report report = stored_report(run);
  report.title = fmt::format("What if: {} on {}", base.model, gpu_title(base.gpu));
  report.facts = {{"Baseline", base.model},
                  {"Runs on", gpu_title(base.gpu)},
                  {"Engine", base.engine},
                  {"First seed", std::to_string(base.seed)}};
  // With several deployments there is no single verdict.
  report.verdict.reset();
  if (!metrics.empty()) report.answer = answer_of(runs, metrics.front());
  ReportSection differences{.heading = "Effect of each change",
                            .tables = {variant_table(runs, metrics)}};
  for (const MetricName& metric : metrics) {
    Figure figure = metric_figure(runs, metric);
    if (!figure.series.front().points.empty()) differences.figures.push_back(std::move(figure));
  }
  report.sections.front().heading = fmt::format("Run {}: {}", run.row.id, name_of(run));
  report.sections.insert(report.sections.begin(), std::move(differences));
  return report;
}

}  // namespace roofcast
