// A GPU's roofline, and operators on it (Williams, Waterman, Patterson, CACM 52(4), 2009).
#pragma once

#include <string>
#include <vector>

#include "model/step/step_estimate.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// A step whose operators are drawn as points.
struct RooflineStep {
  std::string name{};  // "prefill of 1 x 1,024 tokens"
  StepEstimate step{};
};

/// The roofs of the number formats in which the steps compute. Bytes are those that cross HBM:
/// activations that stay in the L2 cache do not count (model/step/roofline.hpp). Operators without
/// FLOPs or without HBM traffic, and collectives, are in the table only.
Figure roofline_figure(const Gpu& gpu, const std::vector<RooflineStep>& steps);

/// Every roof of a GPU with its ridge point.
Figure roofline_figure(const Gpu& gpu);

}  // namespace roofcast
