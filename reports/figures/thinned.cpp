#include "reports/figures/thinned.hpp"

#include <algorithm>
#include <utility>

namespace roofcast {

std::vector<FigurePoint> thinned(std::vector<FigurePoint> points, std::size_t most) {
  if (points.size() <= most || most < 4) return points;
  const auto lower = [](const FigurePoint& a, const FigurePoint& b) { return a.y < b.y; };
  const std::size_t stretches = (most - 2) / 2;
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

}  // namespace roofcast
