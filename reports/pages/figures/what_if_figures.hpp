// The effect of changes on each metric, as figures.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

/// One figure per metric: over the values of the numeric knob with the most of them, one line per
/// setting of the other knobs; over variant names if no knob is numeric. Whiskers are the intervals
/// of the differences, around the values. Metrics that no variant has are left out.
std::vector<Figure> what_if_figures(const WhatIfAnswer& answer);

}  // namespace roofcast
