// The drawable part of a figure: points that are finite and, on a logarithmic axis, above zero.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// Whether `value` can be placed on the axis.
bool drawable(const FigureAxis& axis, double value);

/// The series with their drawable points; series without any are left out. Throws Error naming the
/// figure if a point is in no category.
std::vector<FigureSeries> drawn_series(const Figure& figure);

/// Whether any point can be drawn; if not, a report shows the figure's table instead.
bool can_be_drawn(const Figure& figure);

}  // namespace roofcast
