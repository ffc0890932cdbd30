// Fewer points that look the same.
#pragma once

#include <cstddef>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// Points a series holds at most in a page.
inline constexpr std::size_t kMaxPoints = 300;

/// At most `most` of the points, which are in order of x: the first and the last, and of each of
/// equally long stretches of the others the lowest and the highest. No peak is lost.
std::vector<FigurePoint> thinned(std::vector<FigurePoint> points, std::size_t max = kMaxPoints);

/// Points by themselves that a figure draws at most.
inline constexpr std::size_t kMaxScattered = 400;

/// A figure that a page can hold: lines and levels of kMaxPoints, and of all points by themselves
/// evenly chosen ones, kMaxScattered or a point a series; where some are left out the caption says
/// how many are drawn. Its table stays that of all points.
Figure thinned_figure(Figure figure);

}  // namespace roofcast
