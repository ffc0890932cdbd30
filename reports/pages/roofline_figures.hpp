// A GPU's roofline, and operators on it (Williams, Waterman, Patterson, CACM 52(4), 2009).
#pragma once

#include <string>
#include <vector>

#include "model/step/step_estimate.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// A step, each operator of which is a point.
struct RooflineStep {
  std::string name{};  // "prefill of 1 x 1,024 tokens"
  StepEstimate step{};
};

/// Roofs of the number formats that the steps compute in. Bytes are those that cross HBM:
/// activations that stay in the L2 cache do not count (model/step/roofline.hpp). Operators that
/// compute nothing, collectives, and those that leave HBM alone are in the table only.
Figure roofline_figure(const Gpu& gpu, const std::vector<RooflineStep>& steps);

/// Every roof of a GPU with its ridge.
Figure roofline_figure(const Gpu& gpu);

}  // namespace roofcast
