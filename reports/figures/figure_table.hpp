// The numbers of a figure for those who read rather than see.
#pragma once

#include "reports/figures/figure.hpp"

namespace roofcast {

/// The figure's own table, or one made of its points: a row for each x with a column a series where
/// series share their x, else a row a point.
Table figure_table(const Figure& figure);

/// Four significant digits, or all of the whole part; thousands separated: "12,346", "0.02346".
std::string figure_number(double value);

}  // namespace roofcast
