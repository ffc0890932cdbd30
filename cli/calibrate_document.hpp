// What `roofcast calibrate` prints: ceilings, how well the curves answer, what was left out.
#pragma once

#include "cli/run_calibration.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// Precondition: the outcome has a profile.
Document calibration_document(const CalibrationOutcome& outcome);

}  // namespace roofcast
