#include "reports/pages/figures/what_if_figures.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quantity.hpp"

namespace roofcast {
namespace {

/// The value of a knob in a variant; empty if it is not varied there.
std::string value_of(const VariantAnswer& row, const std::string& key) {
  for (const Setting& setting : row.settings) {
    if (setting.key == key) return setting.value;
  }
  return "";
}

/// The distinct values of a knob as numbers; empty if some variant lacks the knob or has a value
/// that is not a number.
std::vector<double> numbers_of(const WhatIfAnswer& answer, const std::string& key) {
  std::vector<double> values;
  for (const VariantAnswer& row : answer.variants) {
    if (row.settings.empty()) continue;
    const std::string value = value_of(row, key);
    const auto number = to_number<double>(value);
    if (!number) return {};
    values.push_back(*number);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The knob with the most values, all of them numbers and in every variant; empty if there is none.
std::string numeric_key(const WhatIfAnswer& answer) {
  std::string best;
  std::size_t max = 1;
  for (const Setting& candidate : answer.variants.back().settings) {
    const std::size_t count = numbers_of(answer, candidate.key).size();
    if (count <= max) continue;
    max = count;
    best = candidate.key;
  }
  return best;
}

/// The whisker is the interval of the difference, shifted to the value.
FigurePoint point_of(double x, const VariantAnswer& row, const MetricAnswer& metric) {
  const double value = *metric.value;
  FigurePoint point{.x = x, .y = value, .label = name_of(row) + ": " + metric_text(metric, value)};
  if (row.settings.empty() || !metric.difference || !metric.low) return point;
  const double before = value - *metric.difference;
  // The difference is taken as normal, a metric is never negative.
  point.low = std::max(0.0, before + *metric.low);
  point.high = before + metric.high.value_or(*metric.low);
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

/// What grows as long as the load lasts has no value to draw.
bool is_drawn(const MetricAnswer& figure) { return figure.value && !figure.grows; }

void fill_by_number(const WhatIfAnswer& answer, std::size_t metric, const std::string& key,
                    Figure& drawn) {
  drawn.x = {.title = key};
  for (const VariantAnswer& row : answer.variants) {
    const MetricAnswer& figure = row.metrics[metric];
    if (row.settings.empty() || !is_drawn(figure)) continue;
    Settings others;
    for (const Setting& setting : row.settings) {
      if (setting.key != key) others.push_back(setting);
    }
    const double x = to_number<double>(value_of(row, key)).value_or(0);
    series_of(drawn, to_text(others)).points.push_back(point_of(x, row, figure));
  }
  for (FigureSeries& series : drawn.series) {
    std::sort(series.points.begin(), series.points.end(),
              [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
  }
}

void fill_by_name(const WhatIfAnswer& answer, std::size_t metric, Figure& drawn) {
  drawn.x = {.title = "variant", .scale = AxisScale::category};
  for (const VariantAnswer& row : answer.variants) {
    const auto x = static_cast<double>(drawn.x.names.size());
    drawn.x.names.push_back(name_of(row));
    const MetricAnswer& figure = row.metrics[metric];
    if (!is_drawn(figure)) continue;
    series_of(drawn, "").points.push_back(point_of(x, row, figure));
  }
}

}  // namespace

std::vector<Figure> what_if_figures(const WhatIfAnswer& answer) {
  const std::string key = numeric_key(answer);
  std::vector<Figure> figures;
  const std::vector<MetricAnswer>& metrics = answer.variants.front().metrics;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const MetricName& metric = metrics[i];
    Figure drawn{.key = "what_if_" + metric.name + "_" + metric.statistic,
                 .title = title_of(metric),
                 .caption =
                     "Mean over seeds; whiskers: the 95 % interval of the difference from "
                     "the baseline.",
                 .y = {.title = title_of(metric) + (is_time(metric) ? " (s)" : "")}};
    key.empty() ? fill_by_name(answer, i, drawn) : fill_by_number(answer, i, key, drawn);
    if (!drawn.series.empty()) figures.push_back(std::move(drawn));
  }
  return figures;
}

}  // namespace roofcast
