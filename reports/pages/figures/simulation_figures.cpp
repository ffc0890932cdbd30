#include "reports/pages/figures/simulation_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/figures/latency_figures.hpp"
#include "simulator/results/request_tally.hpp"

namespace roofcast {
namespace {

/// Values of all finished requests and, if there are several classes, of each class.
std::vector<LatencySample> samples_of(const SimulationRun& run, LatencyPart part) {
  std::vector<LatencySample> samples(std::max<std::size_t>(1, run.workload.class_names.size()));
  for (std::size_t i = 0; i < run.workload.class_names.size(); ++i) {
    samples[i].name = run.workload.class_names[i];
  }
  for (const RequestRecord& record : run.result.requests) {
    const auto duration = duration_of(record, part);
    const auto index = static_cast<std::size_t>(record.request.slo_class);
    if (!duration || index >= samples.size()) continue;
    samples[index].values_s.push_back(to_seconds(*duration).value);
  }
  if (samples.size() == 1) return samples;
  LatencySample all;
  for (const LatencySample& sample : samples) {
    all.values_s.insert(all.values_s.end(), sample.values_s.begin(), sample.values_s.end());
  }
  samples.insert(samples.begin(), std::move(all));
  return samples;
}

/// The SLO's limits on a metric: "p95 ≤ 500 ms", "p95 of chat ≤ 500 ms".
std::vector<LatencyLimit> limits_of(const Slo& slo, LatencyMetric metric) {
  std::vector<LatencyLimit> limits;
  const auto add = [&](const std::vector<PercentileTarget>& targets, const std::string& whose) {
    for (const PercentileTarget& target : targets) {
      if (target.metric != metric) continue;
      limits.push_back(
          {.name = fmt::format("p{:g}{} ≤ {}", target.percentile, whose, limit_words(target.limit)),
           .limit_s = target.limit.value});
    }
  };
  add(slo.targets, "");
  for (const SloClass& one : slo.classes) add(one.targets, " of " + one.name);
  return limits;
}

/// One row per stretch of the run, with the maxima in it.
Table level_table(const LevelTimeline& timeline, const TimeUnit& unit) {
  constexpr std::size_t kRows = 20;
  Table table{.title = "",
              .columns = {{fmt::format("From ({})", unit.name)},
                          {fmt::format("To ({})", unit.name)},
                          {"Running, max"},
                          {"Waiting, max"},
                          {"KV blocks in use, max"},
                          {"Allocated but empty, max"}},
              .rows = {}};
  const std::vector<Levels>& max = timeline.max();
  const double stretch = unit.of(to_seconds(timeline.stretch()).value);
  const std::size_t rows = std::min(kRows, max.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t begin = max.size() * row / rows, end = max.size() * (row + 1) / rows;
    Levels levels;
    for (std::size_t i = begin; i < end; ++i) {
      levels.running = std::max(levels.running, max[i].running);
      levels.waiting = std::max(levels.waiting, max[i].waiting);
      levels.kv_use = std::max(levels.kv_use, max[i].kv_use);
      levels.kv_empty = std::max(levels.kv_empty, max[i].kv_empty);
    }
    table.rows.push_back({printed::fixed(stretch * static_cast<double>(begin), 2),
                          printed::fixed(stretch * static_cast<double>(end), 2),
                          printed::count(levels.running), printed::count(levels.waiting),
                          printed::percent(levels.kv_use), printed::percent(levels.kv_empty)});
  }
  return table;
}

/// Keeps only the KV cache columns.
Table without_requests(Table table) {
  constexpr std::ptrdiff_t kFirst = 2, kEnd = 4;
  table.columns.erase(table.columns.begin() + kFirst, table.columns.begin() + kEnd);
  for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + kFirst, row.begin() + kEnd);
  return table;
}

template <class Value>
FigureSeries level_series(const std::string& name, const LevelTimeline& timeline,
                          const TimeUnit& unit, const Value& value) {
  FigureSeries series{.name = name, .mark = Mark::step};
  const double stretch = unit.of(to_seconds(timeline.stretch()).value);
  const std::vector<Levels>& max = timeline.max();
  for (std::size_t i = 0; i < max.size(); ++i) {
    series.points.push_back({.x = stretch * static_cast<double>(i), .y = value(max[i])});
  }
  if (max.empty()) return series;
  series.points.push_back({.x = stretch * static_cast<double>(max.size()), .y = value(max.back())});
  return series;
}

}  // namespace

std::vector<Figure> simulation_figures(const SimulationRun& run) {
  std::vector<Figure> figures;
  for (const LatencyMetric metric : kDrawnLatencies) {
    auto figure = latency_figure(latency_question(metric), samples_of(run, *part_of(metric)),
                                 limits_of(run.scenario.slo, metric));
    if (!figure) continue;
    if (run.result.rejected > 0 && has_targets(run.scenario.slo)) {
      figure->caption +=
          fmt::format(" The {} that were rejected count against the SLO; they are not drawn.",
                      with_separators(run.result.rejected));
    }
    figures.push_back(*std::move(figure));
  }
  return figures;
}

std::vector<Figure> timeline_figures(const LevelTimeline& timeline) {
  if (timeline.max().empty()) return {};
  const Seconds whole = to_seconds(timeline.stretch()) * static_cast<double>(timeline.max().size());
  const TimeUnit unit = unit_for(whole.value);
  const std::string stretch = as_time(to_seconds(timeline.stretch()));
  const FigureAxis time{.title = with_unit("time since the start of the run", unit), .low = 0};
  Figure requests{
      .key = "requests_over_time",
      .title = "Requests in the engine over time",
      .caption = "Requests in an engine step and requests waiting for one: the maximum in each " +
                 stretch + ".",
      .x = time,
      .y = {.title = "requests", .low = 0}};
  requests.series = {
      level_series("running", timeline, unit,
                   [](const Levels& levels) { return static_cast<double>(levels.running); }),
      level_series("waiting", timeline, unit,
                   [](const Levels& levels) { return static_cast<double>(levels.waiting); })};
  requests.table = level_table(timeline, unit);
  Figure cache{.key = "kv_cache_over_time",
               .title = "KV cache over time",
               .caption =
                   "Share of the KV cache's blocks in use, and of its room that is allocated "
                   "to sequences but holds no K and V: the maximum in each " +
                   stretch + "; at 100 % requests wait or are preempted.",
               .x = time,
               .y = {.title = "share of the KV cache (%)", .low = 0, .high = 100}};
  constexpr double kPercent = 100;
  cache.series = {level_series("in use", timeline, unit,
                               [](const Levels& levels) { return kPercent * levels.kv_use; }),
                  level_series("allocated but empty", timeline, unit,
                               [](const Levels& levels) { return kPercent * levels.kv_empty; })};
  cache.table = without_requests(level_table(timeline, unit));
  return {std::move(requests), std::move(cache)};
}

}  // namespace roofcast
