// What `roofcast calibrate` prints: ceilings, how well the curves answer, what was left out.
#pragma once

#include <optional>
#include <string>

#include "calibrate/run_calibration.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// Precondition: the outcome has a profile.
Document calibration_document(const CalibrationOutcome& outcome);

/// A line for stderr where the device was lost on the way; nothing where it was not.
std::optional<std::string> failure_of(const CalibrationOutcome& outcome);

}  // namespace roofcast
