// Fewer points for the same picture.
#pragma once

#include <cstddef>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// Most points per series in a page.
inline constexpr std::size_t kMaxPoints = 300;

/// At most `max` of the points, which must be sorted by x: the first, the last, and the lowest and
/// highest of each of equally long stretches in between. No peak is lost.
std::vector<FigurePoint> thinned(std::vector<FigurePoint> points, std::size_t max = kMaxPoints);

/// Most unconnected points that a figure draws.
inline constexpr std::size_t kMaxScattered = 400;

/// A figure small enough for a page: lines and steps of up to kMaxPoints each, and evenly chosen
/// unconnected points, up to kMaxScattered or one per series. If points are left out, the caption
/// says how many are drawn. The table keeps all points.
Figure thinned_figure(Figure figure);

}  // namespace roofcast
