// Stored runs side by side, as figures.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/compare.hpp"

namespace roofcast {

/// Percentiles of the latencies, one series per run; of two runs also the changes of the figures of
/// which less or more is better, as shares. Figures with nothing to draw are left out.
std::vector<Figure> compare_figures(const CompareAnswer& answer);

}  // namespace roofcast
