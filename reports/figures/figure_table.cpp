#include "reports/figures/figure_table.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

constexpr int kDigits = 4;

Printed printed_number(double value) {
  if (!std::isfinite(value) || value == std::round(value)) return printed::fixed(value, 0);
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  constexpr int kMaxDecimals = 9;
  return printed::fixed(value, std::clamp(kDigits - 1 - exponent, 0, kMaxDecimals));
}

Printed x_cell(const FigureAxis& axis, double x) {
  if (axis.scale != AxisScale::category) return printed_number(x);
  const auto index = static_cast<std::size_t>(std::max(0.0, x));
  return index < axis.names.size() ? Printed(axis.names[index]) : printed_number(x);
}

Cell y_cell(const FigurePoint& point) {
  if (!point.low || !point.high) return printed_number(point.y);
  return followed(printed_number(point.y),
                  " (" + figure_number(*point.low) + " to " + figure_number(*point.high) + ")");
}

bool same_x(const FigureSeries& one, const FigureSeries& other) {
  return std::equal(one.points.begin(), one.points.end(), other.points.begin(), other.points.end(),
                    [](const FigurePoint& a, const FigurePoint& b) { return a.x == b.x; });
}

bool has_labels(const Figure& figure) {
  return std::any_of(figure.series.begin(), figure.series.end(), [](const FigureSeries& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const FigurePoint& point) { return !point.label.empty(); });
  });
}

bool series_share_x(const Figure& figure) {
  return std::all_of(figure.series.begin(), figure.series.end(), [&](const FigureSeries& series) {
    return same_x(series, figure.series.front());
  });
}

/// One row per x.
Table wide_table(const Figure& figure) {
  Table table{.title = "", .columns = {}, .rows = {}};
  table.columns.push_back({figure.x.title, figure.x.scale != AxisScale::category});
  for (const FigureSeries& series : figure.series) {
    table.columns.push_back(
        {figure.series.size() == 1 ? figure.y.title : series.name + ": " + figure.y.title});
  }
  const std::vector<FigurePoint>& first = figure.series.front().points;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::vector<Cell> row{x_cell(figure.x, first[i].x)};
    for (const FigureSeries& series : figure.series) row.push_back(y_cell(series.points[i]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// One row per point.
Table long_table(const Figure& figure) {
  const bool labelled = has_labels(figure);
  Table table{.title = "",
              .columns = {{"Series", false},
                          {figure.x.title, figure.x.scale != AxisScale::category},
                          {figure.y.title}},
              .rows = {}};
  if (labelled) table.columns.insert(table.columns.begin() + 1, {"Point", false});
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      std::vector<Cell> row{series.name, x_cell(figure.x, point.x), y_cell(point)};
      if (labelled) row.insert(row.begin() + 1, point.label);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace

std::string figure_number(double value) { return printed_number(value).text; }

Table figure_table(const Figure& figure) {
  if (!figure.table.columns.empty()) return figure.table;
  if (figure.series.empty()) return {};
  return series_share_x(figure) && !has_labels(figure) ? wide_table(figure) : long_table(figure);
}

}  // namespace roofcast
