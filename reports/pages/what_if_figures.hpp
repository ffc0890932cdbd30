// What a change does to each metric, as figures.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

/// A figure a metric: over the numbers of the knob that has most of them, a line for each setting
/// of the others; over names where no knob is one of numbers. Whiskers are the intervals of the
/// differences, around the values. Metrics that no variant has are left out.
std::vector<Figure> what_if_figures(const WhatIfAnswer& answer);

}  // namespace roofcast
