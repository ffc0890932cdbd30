// Figures of what the store holds of a run, without simulating it.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Latencies of its requests where they were kept, else at the percentiles that were; none where
/// there are neither.
std::vector<Figure> stored_figures(const Run& stored);

}  // namespace roofcast
