// How far off a step's time may be, by cause: what errs together within a step, and with the steps
// of other deployments.
#pragma once

#include <vector>

#include "base/error_cause.hpp"
#include "model/step/step_estimate.hpp"

namespace roofcast {

/// The causes of a step's error, by name; their squares add up to that of
/// StepEstimate::relative_uncertainty. Operators of one family and provenance err together;
/// families are independent, except for what an engine's kernel tables have in common.
std::vector<ErrorCause> error_causes(const StepEstimate& step);

}  // namespace roofcast
