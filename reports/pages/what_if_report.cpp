#include "reports/pages/run_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/answers/what_if_sections.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/stored_report.hpp"
#include "roofcast/store_rows.hpp"

namespace roofcast {
namespace {

/// The answer that left the run, and its runs; throws Error where the store lacks part of it.
struct Stored {
  WhatIfAnswer answer{};
  std::vector<Run> runs{};
};

Stored stored_answer(const Store& store, std::int64_t id) {
  const auto stored = store.answer_of(id);
  if (!stored) throw Error("an earlier version of the program made it");
  Stored found;
  for (const std::int64_t one : stored->runs) {
    if (auto run = store.run(one)) found.runs.push_back(*std::move(run));
  }
  found.answer = what_if_of(parse_bounded<Json>(stored->json, "the stored answer"), found.runs);
  return found;
}

/// A row of the figure's table: value, difference and its interval.
std::vector<Cell> row_of(const std::string& variant, const MetricAnswer& metric) {
  const auto shown = [&](const std::optional<double>& value) {
    return value && !metric.grows ? difference_cell(metric, *value) : "-";
  };
  return {variant,
          value_cell(metric),
          shown(metric.difference),
          shown(metric.low),
          shown(metric.high),
          !metric.significant || metric.grows ? ""
          : *metric.significant               ? "yes"
                                              : "no"};
}

/// The whisker is the interval of the difference, shifted to the value.
std::optional<FigurePoint> point_of(const std::string& variant, const MetricAnswer& metric) {
  if (!metric.value) return std::nullopt;
  const double value = *metric.value;
  FigurePoint point{.y = value, .label = variant + ": " + metric_text(metric, value)};
  if (metric.difference && metric.low && metric.high) {
    point.low = value - *metric.difference + *metric.low;
    point.high = value - *metric.difference + *metric.high;
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

/// The compared metric number `which`.
Figure metric_figure(const WhatIfAnswer& answer, std::size_t which) {
  const MetricName& metric = answer.variants.front().metrics[which];
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
  for (const VariantAnswer& variant : answer.variants) {
    const auto x = static_cast<double>(figure.x.names.size());
    const std::string name = name_of(variant);
    figure.x.names.push_back(name);
    const MetricAnswer& found = variant.metrics[which];
    figure.table.rows.push_back(row_of(name, found));
    if (found.grows) continue;
    auto point = point_of(name, found);
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

/// The variant that is best in the headline metric; the first of several equal ones; null if none
/// keeps up.
const VariantAnswer* best_of(const WhatIfAnswer& answer) {
  const VariantAnswer* best = nullptr;
  for (const VariantAnswer& variant : answer.variants) {
    const MetricAnswer& metric = variant.metrics.front();
    if (!metric.value || metric.grows) continue;
    const auto max = best == nullptr ? std::nullopt : best->metrics.front().value;
    if (!max ||
        (more_is_better(metric).value_or(false) ? *metric.value > *max : *metric.value < *max)) {
      best = &variant;
    }
  }
  return best;
}

/// Share of the seeds in which the SLO was met; nullopt without one.
std::optional<double> slo_share(const VariantAnswer& variant) {
  for (const RunFigure& figure : variant.all_figures) {
    if (figure.metric.name == "slo_met") return figure.value;
  }
  return std::nullopt;
}

/// Whether the SLO was met with every seed, by runs long enough to tell; false without one.
bool meets(const VariantAnswer& variant) {
  return variant.undecided == 0 && slo_share(variant).value_or(0) >= 1;
}

/// Variants with figures under an SLO.
struct SloCount {
  std::int64_t judged = 0;
  std::int64_t met = 0;
  std::int64_t undecided = 0;
};

SloCount slo_count(const WhatIfAnswer& answer) {
  SloCount count;
  for (const VariantAnswer& variant : answer.variants) {
    if (!slo_share(variant)) continue;
    ++count.judged;
    count.met += meets(variant) ? 1 : 0;
    count.undecided += variant.undecided > 0 ? 1 : 0;
  }
  return count;
}

/// " 3 of 4 variants meet the SLO, 1 is undecided."; empty without an SLO.
std::string slo_text(const WhatIfAnswer& answer) {
  const SloCount count = slo_count(answer);
  if (count.judged == 0) return "";
  const char* be = count.undecided == 1 ? "is" : "are";
  return fmt::format(
      " {} of {} meet the SLO{}.", count.met, counted(count.judged, "variant"),
      count.undecided == 0 ? std::string() : fmt::format(", {} {} undecided", count.undecided, be));
}

/// The cheapest variant that meets the SLO; null without one, or without prices.
const VariantAnswer* cheapest_that_meets(const WhatIfAnswer& answer) {
  const VariantAnswer* cheapest = nullptr;
  for (const VariantAnswer& variant : answer.variants) {
    const auto& price = variant.cost.dollars_per_hour;
    if (!price || !meets(variant)) continue;
    if (cheapest == nullptr || *price < *cheapest->cost.dollars_per_hour) cheapest = &variant;
  }
  return cheapest;
}

/// How many meet the SLO, the cheapest of them, the best, and what there is now.
std::vector<ReportTile> tiles_of(const WhatIfAnswer& answer) {
  const VariantAnswer& base = answer.variants.front();
  if (base.metrics.empty()) return {};
  std::vector<ReportTile> tiles;
  if (const SloCount count = slo_count(answer); count.judged > 0) {
    tiles.push_back({.name = "SLO met by",
                     .value = fmt::format("{} of {}", count.met, count.judged),
                     .note = count.undecided == 0
                                 ? "variants, the baseline included"
                                 : fmt::format("variants, the baseline included; {} undecided",
                                               count.undecided)});
  }
  if (const VariantAnswer* cheapest = cheapest_that_meets(answer)) {
    tiles.push_back({.name = "Cheapest that meets it",
                     .value = "$" + fixed(*cheapest->cost.dollars_per_hour, 2) + " per hour",
                     .note = name_of(*cheapest)});
  }
  const auto add = [&](const std::string& title, const VariantAnswer& variant) {
    const MetricAnswer& metric = variant.metrics.front();
    if (!metric.value || metric.grows) return;
    tiles.push_back({.name = title + " " + title_of(metric),
                     .value = metric_text(metric, *metric.value),
                     .note = name_of(variant)});
  };
  if (const VariantAnswer* best = best_of(answer)) add("Best", *best);
  add("Now", base);
  return tiles;
}

/// For a difference whose interval contains 0.
std::string chance_text(const MetricAnswer& metric) {
  if (metric.significant.value_or(true)) return "";
  return ", which may be chance: the 95 % interval of the difference contains 0";
}

/// Empty if the baseline has no value to compare with.
std::string answer_text(const WhatIfAnswer& answer) {
  const VariantAnswer& base = answer.variants.front();
  if (base.metrics.empty() || !base.metrics.front().value) return "";
  const MetricAnswer& before = base.metrics.front();
  const std::string of =
      fmt::format("{} to {} on {}", counted(std::ssize(answer.variants) - 1, "change"),
                  base.labels.model, gpu_title(base.labels.gpu));
  const VariantAnswer* found = best_of(answer);
  if (found == nullptr) {
    return fmt::format("The baseline does not keep up, nor does any of {}: {} grows without bound.",
                       of, title_of(before));
  }
  const VariantAnswer& best = *found;
  if (before.grows) {
    return fmt::format("Of {}, {} has the best {}, {}; at the baseline it grows without bound.{}",
                       of, name_of(best), title_of(before),
                       metric_text(before, *best.metrics.front().value), slo_text(answer));
  }
  if (best.settings.empty()) {
    return fmt::format("None of {} improves its {} of {}.{}", of, title_of(before),
                       metric_text(before, *before.value), slo_text(answer));
  }
  const MetricAnswer& after = best.metrics.front();
  return fmt::format("Of {}, {} improves {} most: {} instead of {}{}.{}", of, name_of(best),
                     title_of(after), metric_text(after, *after.value),
                     metric_text(before, *before.value), chance_text(after), slo_text(answer));
}

/// The variants with their runs.
Table table_of_runs(const Stored& stored) {
  Table table = variant_table(stored.answer);
  table.columns.push_back({"Run"});
  auto run = stored.runs.begin();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const bool refused = !stored.answer.variants[i].reason.empty();
    table.rows[i].push_back(refused ? "-" : std::to_string((run++)->row.id));
  }
  return table;
}

/// The name of the variant that left a run.
std::string name_of_run(const Stored& stored, std::int64_t id) {
  auto run = stored.runs.begin();
  for (const VariantAnswer& variant : stored.answer.variants) {
    if (variant.reason.empty() && (run++)->row.id == id) return name_of(variant);
  }
  return "";
}

/// "tp=3: why" for each variant without figures.
std::vector<std::string> refusals(const WhatIfAnswer& answer) {
  std::vector<std::string> lines;
  for (const VariantAnswer& variant : answer.variants) {
    if (!variant.reason.empty()) lines.push_back(name_of(variant) + ": " + variant.reason + ".");
  }
  return lines;
}

}  // namespace

Report what_if_report(const Store& store, const Run& run) {
  Report report = stored_report(run);
  Stored stored;
  try {
    stored = stored_answer(store, run.row.id);
  } catch (const Error& error) {
    report.sections.front().lines.push_back(
        fmt::format("The other variants cannot be shown: {}.", error.what()));
    return report;
  }
  const WhatIfAnswer& answer = stored.answer;
  const RunRow& base = stored.runs.front().row;
  report.title = fmt::format("What if: {} on {}", base.model, gpu_title(base.gpu));
  report.facts = {{"Baseline", base.model},
                  {"Runs on", gpu_title(base.gpu)},
                  {"Engine", base.engine},
                  {"First seed", std::to_string(answer.baseline.seed)}};
  report.tiles = tiles_of(answer);
  // With several deployments there is no single verdict.
  report.verdict.reset();
  if (const std::string text = answer_text(answer); !text.empty()) report.answer = text;
  ReportSection differences{.heading = "Effect of each change",
                            .lines = refusals(answer),
                            .tables = {table_of_runs(stored)}};
  for (std::size_t i = 0; i < answer.variants.front().metrics.size(); ++i) {
    Figure figure = metric_figure(answer, i);
    if (!figure.series.front().points.empty()) differences.figures.push_back(std::move(figure));
  }
  report.sections.front().heading =
      fmt::format("Run {}: {}", run.row.id, name_of_run(stored, run.row.id));
  report.sections.insert(report.sections.begin(), std::move(differences));
  return report;
}

}  // namespace roofcast
