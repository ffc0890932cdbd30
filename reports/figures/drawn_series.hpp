// What of a figure can be drawn: points that are finite and, on a logarithmic axis, above zero.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// Whether an axis has a place for it.
bool drawable(const FigureAxis& axis, double value);

/// The series that have something to draw, with that alone. Throws Error naming the figure when a
/// point is in no category.
std::vector<FigureSeries> drawn_series(const Figure& figure);

/// Whether any point can; a figure without one is left out of a report, and its table shown.
bool can_be_drawn(const Figure& figure);

}  // namespace roofcast
