#include "reports/figures/drawn_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace roofcast {
namespace {

void check_category(const Figure& figure, const FigurePoint& point) {
  if (figure.x.scale != AxisScale::category) return;
  const auto count = static_cast<double>(figure.x.names.size());
  if (point.x == std::floor(point.x) && point.x >= 0 && point.x < count) return;
  throw Error(fmt::format("figure {}: point at {} of {} categories", figure.key, point.x,
                          figure.x.names.size()));
}

bool is_drawn(const Figure& figure, const FigurePoint& point) {
  const bool along = figure.x.scale == AxisScale::category || drawable(figure.x, point.x);
  return along && drawable(figure.y, point.y);
}

}  // namespace

bool drawable(const FigureAxis& axis, double value) {
  return std::isfinite(value) && (axis.scale != AxisScale::logarithmic || value > 0);
}

std::vector<FigureSeries> drawn_series(const Figure& figure) {
  std::vector<FigureSeries> drawn;
  for (const FigureSeries& series : figure.series) {
    FigureSeries kept{.name = series.name, .mark = series.mark};
    for (const FigurePoint& point : series.points) {
      if (!is_drawn(figure, point)) continue;
      check_category(figure, point);
      kept.points.push_back(point);
    }
    if (!kept.points.empty()) drawn.push_back(std::move(kept));
  }
  return drawn;
}

bool can_be_drawn(const Figure& figure) {
  return std::any_of(figure.series.begin(), figure.series.end(), [&](const FigureSeries& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [&](const FigurePoint& point) { return is_drawn(figure, point); });
  });
}

}  // namespace roofcast
