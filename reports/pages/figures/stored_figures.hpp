// Figures of a stored run, without simulating it.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Latencies of its requests if they were kept, else at the stored percentiles, and a measured
/// staircase; empty if there is none of them.
std::vector<Figure> stored_figures(const Run& stored);

}  // namespace roofcast
