// A what-if as rows of the store, and as a figure.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "cli/utc_time.hpp"
#include "cli/version.hpp"
#include "cli/what_if_document.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

void add_differences(const WhatIfAnswer& answer, const WhatIfRow& row,
                     std::vector<MetricRow>& metrics) {
  for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
    const MetricName& metric = answer.metrics[i];
    const std::optional<Difference>& difference = row.figures[i].difference;
    if (!difference) continue;
    metrics.push_back({metric.name, metric.statistic + "_difference", difference->mean});
    if (!difference->low) continue;
    metrics.push_back({metric.name, metric.statistic + "_difference_low", *difference->low});
    metrics.push_back({metric.name, metric.statistic + "_difference_high", *difference->high});
  }
}

/// "tp=2: TTFT p95 412 ms (-120 ms)"
std::string summary_of(const WhatIfAnswer& answer, const WhatIfRow& row) {
  std::string text = row.variant.settings.empty() ? "baseline" : to_text(row.variant.settings);
  const WhatIfFigure& figure = row.figures.front();
  if (!figure.value) return text;
  const MetricName& metric = answer.metrics.front();
  text += fmt::format(": {} {}", title_of(metric), metric_text(metric, *figure.value));
  if (row.variant.settings.empty() || !figure.difference) return text;
  return text + fmt::format(" ({}{})", difference_text(metric, figure.difference->mean),
                            !figure.difference->low            ? ""
                            : figure.difference->significant() ? ", significant"
                                                               : ", not significant");
}

// ---- the figure

/// The whole text as a finite number.
bool read_number(const std::string& text, double& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && rest == text.data() + text.size() && std::isfinite(number);
}

/// The value of a knob in a variant; empty where it is not varied.
std::string value_of(const WhatIfRow& row, const std::string& key) {
  for (const Setting& setting : row.variant.settings) {
    if (setting.key == key) return setting.value;
  }
  return "";
}

/// The values of a knob as numbers, each once; none when it is not varied everywhere or has others.
std::vector<double> numbers_of(const WhatIfAnswer& answer, const std::string& key) {
  std::vector<double> values;
  for (const WhatIfRow& row : answer.rows) {
    if (row.variant.settings.empty()) continue;
    const std::string value = value_of(row, key);
    double number = 0;
    if (!read_number(value, number)) return {};
    values.push_back(number);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The knob that has most values, all of them numbers and in every variant; empty: there is none.
std::string numeric_key(const WhatIfAnswer& answer) {
  std::string best;
  std::size_t most = 1;
  for (const Setting& candidate : answer.rows.back().variant.settings) {
    const std::size_t count = numbers_of(answer, candidate.key).size();
    if (count <= most) continue;
    most = count;
    best = candidate.key;
  }
  return best;
}

/// The whisker is the interval of the difference, around the value.
LinePoint point_of(double x, const WhatIfRow& row, const MetricName& metric,
                   const WhatIfFigure& figure) {
  const double value = *figure.value;
  const std::string name =
      row.variant.settings.empty() ? "baseline" : to_text(row.variant.settings);
  LinePoint point{.x = x, .y = value, .label = name + ": " + metric_text(metric, value)};
  if (row.variant.settings.empty() || !figure.difference || !figure.difference->low) return point;
  const double before = value - figure.difference->mean;
  point.low = before + *figure.difference->low;
  point.high = before + *figure.difference->high;
  return point;
}

LineSeries& series_of(LinePanel& panel, const std::string& name) {
  const auto found = std::find_if(panel.series.begin(), panel.series.end(),
                                  [&](const LineSeries& series) { return series.name == name; });
  if (found != panel.series.end()) return *found;
  panel.series.push_back({.name = name, .points = {}});
  return panel.series.back();
}

void fill_by_number(const WhatIfAnswer& answer, std::size_t metric, const std::string& key,
                    LinePanel& panel) {
  panel.x_title = key;
  for (const WhatIfRow& row : answer.rows) {
    const WhatIfFigure& figure = row.figures[metric];
    if (row.variant.settings.empty() || !figure.value) continue;
    Settings others;
    for (const Setting& setting : row.variant.settings) {
      if (setting.key != key) others.push_back(setting);
    }
    double x = 0;
    read_number(value_of(row, key), x);
    series_of(panel, to_text(others))
        .points.push_back(point_of(x, row, answer.metrics[metric], figure));
  }
  for (LineSeries& series : panel.series) {
    std::sort(series.points.begin(), series.points.end(),
              [](const LinePoint& a, const LinePoint& b) { return a.x < b.x; });
  }
}

void fill_by_name(const WhatIfAnswer& answer, std::size_t metric, LinePanel& panel) {
  panel.x_title = "variant";
  for (const WhatIfRow& row : answer.rows) {
    const auto x = static_cast<double>(panel.names.size());
    panel.names.push_back(row.variant.settings.empty() ? "baseline"
                                                       : to_text(row.variant.settings));
    const WhatIfFigure& figure = row.figures[metric];
    if (!figure.value) continue;
    series_of(panel, "").points.push_back(point_of(x, row, answer.metrics[metric], figure));
  }
}

/// " (s)" of a time, nothing of what has its unit in the title.
std::string unit_of(const MetricName& metric) {
  const bool time = metric.name.ends_with("_s") && !metric.name.ends_with("_per_s");
  return time ? " (s)" : "";
}

}  // namespace

std::vector<Run> what_if_runs(const WhatIfAnswer& answer, const std::string& command_line) {
  std::vector<Run> runs;
  for (const WhatIfRow& row : answer.rows) {
    if (!row.reason.empty()) continue;
    Run run;
    run.row.kind = "whatif";
    run.row.created_at = utc_now();
    run.row.tool_version = kVersion;
    run.row.command_line = command_line;
    run.row.model = row.model;
    run.row.gpu = row.gpu;
    run.row.engine = row.engine;
    run.row.scenario_json = to_json(with_absolute_paths(row.variant.scenario));
    run.row.profile_hash = row.profile_hash;
    run.row.seed = row.variant.scenario.seed;
    run.row.summary = summary_of(answer, row);
    run.metrics = row.metrics;
    run.metrics.push_back({"seeds", "value", static_cast<double>(answer.seeds)});
    if (!row.variant.settings.empty()) add_differences(answer, row, run.metrics);
    runs.push_back(std::move(run));
  }
  return runs;
}

LinePlot what_if_plot(const WhatIfAnswer& answer) {
  LinePlot plot{.title = "What if: " + answer.rows.front().headline +
                         " (whiskers: 95 % interval of the difference from the baseline)",
                .panels = {}};
  const std::string key = numeric_key(answer);
  for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
    LinePanel panel{.title = title_of(answer.metrics[i]),
                    .x_title = "",
                    .y_title = title_of(answer.metrics[i]) + unit_of(answer.metrics[i]),
                    .names = {},
                    .series = {}};
    key.empty() ? fill_by_name(answer, i, panel) : fill_by_number(answer, i, key, panel);
    plot.panels.push_back(std::move(panel));
  }
  return plot;
}

}  // namespace roofcast
