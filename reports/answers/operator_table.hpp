// The operators of a step as a table.
#pragma once

#include <string>
#include <vector>

#include "planner/scenario/step_description.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// A step with all its operators.
struct ListedStep {
  std::vector<OperatorAnswer> operators{};
  Seconds host{};   // not hidden behind device time
  Seconds total{};  // of the step; the shares' denominator
};

/// One row per operator (time, share, FLOPs, bytes, intensity, floor, efficiency, bound,
/// provenance, uncertainty),
/// then one for host time.
Table operator_table(const ListedStep& step, const std::string& title);

}  // namespace roofcast
