#include "reports/pages/what_if_figures.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quantity.hpp"
#include "cli/plan/what_if_document.hpp"

namespace roofcast {
namespace {

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
    const auto number = to_number<double>(value);
    if (!number) return {};
    values.push_back(*number);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The knob that has most values, all of them numbers and in every variant; empty: there is none.
std::string numeric_key(const WhatIfAnswer& answer) {
  std::string best;
  std::size_t max = 1;
  for (const Setting& candidate : answer.rows.back().variant.settings) {
    const std::size_t count = numbers_of(answer, candidate.key).size();
    if (count <= max) continue;
    max = count;
    best = candidate.key;
  }
  return best;
}

/// The whisker is the interval of the difference, around the value.
FigurePoint point_of(double x, const WhatIfRow& row, const MetricName& metric,
                     const WhatIfFigure& figure) {
  const double value = *figure.value;
  const std::string name =
      row.variant.settings.empty() ? "baseline" : to_text(row.variant.settings);
  FigurePoint point{.x = x, .y = value, .label = name + ": " + metric_text(metric, value)};
  if (row.variant.settings.empty() || !figure.difference || !figure.difference->low) return point;
  const double before = value - figure.difference->mean;
  point.low = before + *figure.difference->low;
  point.high = before + *figure.difference->high;
  return point;
}

FigureSeries& series_of(Figure& drawn, const std::string& name) {
  const auto found = std::find_if(drawn.series.begin(), drawn.series.end(),
                                  [&](const FigureSeries& series) { return series.name == name; });
  if (found != drawn.series.end()) return *found;
  drawn.series.push_back(
      {.name = name, .mark = drawn.x.scale == AxisScale::category ? Mark::points : Mark::line});
  return drawn.series.back();
}

void fill_by_number(const WhatIfAnswer& answer, std::size_t metric, const std::string& key,
                    Figure& drawn) {
  drawn.x = {.title = key};
  for (const WhatIfRow& row : answer.rows) {
    const WhatIfFigure& figure = row.figures[metric];
    if (row.variant.settings.empty() || !figure.value) continue;
    Settings others;
    for (const Setting& setting : row.variant.settings) {
      if (setting.key != key) others.push_back(setting);
    }
    const double x = to_number<double>(value_of(row, key)).value_or(0);
    series_of(drawn, to_text(others))
        .points.push_back(point_of(x, row, answer.metrics[metric], figure));
  }
  for (FigureSeries& series : drawn.series) {
    std::sort(series.points.begin(), series.points.end(),
              [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
  }
}

void fill_by_name(const WhatIfAnswer& answer, std::size_t metric, Figure& drawn) {
  drawn.x = {.title = "variant", .scale = AxisScale::category};
  for (const WhatIfRow& row : answer.rows) {
    const auto x = static_cast<double>(drawn.x.names.size());
    drawn.x.names.push_back(row.variant.settings.empty() ? "baseline"
                                                         : to_text(row.variant.settings));
    const WhatIfFigure& figure = row.figures[metric];
    if (!figure.value) continue;
    series_of(drawn, "").points.push_back(point_of(x, row, answer.metrics[metric], figure));
  }
}

/// " (s)" of a time, nothing of what has its unit in the title.
std::string unit_of(const MetricName& metric) {
  const bool time = metric.name.ends_with("_s") && !metric.name.ends_with("_per_s");
  return time ? " (s)" : "";
}

}  // namespace

std::vector<Figure> what_if_figures(const WhatIfAnswer& answer) {
  const std::string key = numeric_key(answer);
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
    const MetricName& metric = answer.metrics[i];
    Figure drawn{.key = "what_if_" + metric.name + "_" + metric.statistic,
                 .title = title_of(metric),
                 .caption =
                     "Mean over seeds; whiskers: the 95 % interval of the difference from "
                     "the baseline.",
                 .y = {.title = title_of(metric) + unit_of(metric)}};
    key.empty() ? fill_by_name(answer, i, drawn) : fill_by_number(answer, i, key, drawn);
    if (!drawn.series.empty()) figures.push_back(std::move(drawn));
  }
  return figures;
}

}  // namespace roofcast
