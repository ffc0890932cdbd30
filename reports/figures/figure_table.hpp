// The numbers of a figure as a table, for readers who cannot see it or want the values.
#pragma once

#include "reports/figures/figure.hpp"

namespace roofcast {

/// The figure's own table, or one made from its points: if all series share their x, one row per x
/// and one column per series, else one row per point.
Table figure_table(const Figure& figure);

/// Four significant digits, or the whole integer part if that is longer, with thousands separators:
/// "12,346", "0.02346".
std::string figure_number(double value);

}  // namespace roofcast
