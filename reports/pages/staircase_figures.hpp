// The staircase: what each token takes with a KV cache and without one.
#pragma once

#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

/// Time of each token, and of all tokens up to it, of one sequence; none where no token was timed.
std::vector<Figure> staircase_figures(const StaircaseAnswer& answer);

}  // namespace roofcast
