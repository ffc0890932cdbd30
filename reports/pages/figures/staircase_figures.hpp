// The staircase: time of each token with and without a KV cache.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

/// Time of each token, and of all tokens so far, of one sequence; empty if no token was timed.
std::vector<Figure> staircase_figures(const StaircaseAnswer& answer);

}  // namespace roofcast
