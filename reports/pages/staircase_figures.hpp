// The staircase: what each token takes with a KV cache and without one.
#pragma once

#include <cstdint>
#include <vector>

#include "model/deployment.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// Time of each token, and of all tokens up to it, of one sequence. Precondition: generate > 0.
std::vector<Figure> staircase_figures(const Deployment& deployment, std::int64_t prompt,
                                      std::int64_t generate);

}  // namespace roofcast
