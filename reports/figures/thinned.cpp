#include "reports/figures/thinned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "reports/figures/figure_table.hpp"

namespace roofcast {
namespace {

std::size_t scattered(const Figure& figure) {
  std::size_t count = 0;
  for (const FigureSeries& series : figure.series) {
    if (series.mark == Mark::points) count += series.points.size();
  }
  return count;
}

/// Every `step`-th point, starting with the first.
std::vector<FigurePoint> evenly(const std::vector<FigurePoint>& points, std::size_t step) {
  std::vector<FigurePoint> kept;
  for (std::size_t i = 0; i < points.size(); i += step) kept.push_back(points[i]);
  return kept;
}

}  // namespace

std::vector<FigurePoint> thinned(std::vector<FigurePoint> points, std::size_t max) {
  if (points.size() <= max || max < 4) return points;
  const auto lower = [](const FigurePoint& a, const FigurePoint& b) { return a.y < b.y; };
  const std::size_t stretches = (max - 2) / 2;
  const std::size_t between = points.size() - 2;
  std::vector<FigurePoint> kept{points.front()};
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = points.begin() + 1 + static_cast<std::ptrdiff_t>(between * i / stretches);
    const auto end =
        points.begin() + 1 + static_cast<std::ptrdiff_t>(between * (i + 1) / stretches);
    const auto [low, high] = std::minmax_element(begin, end, lower);
    kept.push_back(low < high ? *low : *high);
    if (low != high) kept.push_back(low < high ? *high : *low);
  }
  kept.push_back(points.back());
  return kept;
}

Figure thinned_figure(Figure figure) {
  const std::size_t all = scattered(figure);
  const std::size_t step = (all + kMaxScattered - 1) / kMaxScattered;
  figure.table = figure_table(figure);
  for (FigureSeries& series : figure.series) {
    if (series.mark == Mark::line || series.mark == Mark::step) {
      series.points = thinned(std::move(series.points));
    } else if (series.mark == Mark::points && step > 1) {
      series.points = evenly(series.points, step);
    }
  }
  if (step > 1) {
    figure.caption += fmt::format(" Drawn: {} of {} points, evenly chosen.",
                                  with_separators(static_cast<std::int64_t>(scattered(figure))),
                                  with_separators(static_cast<std::int64_t>(all)));
  }
  return figure;
}

}  // namespace roofcast
