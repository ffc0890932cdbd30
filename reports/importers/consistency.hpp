// Checks for figures of one result that contradict each other: warnings, never errors.
#pragma once

#include "reports/measured_run.hpp"

namespace roofcast {

/// Appends to the run's warnings.
void check_consistency(MeasuredRun& run);

}  // namespace roofcast
