// The output of `roofcast calibrate`: ceilings, accuracy of the curves, rejected points.
#pragma once

#include <optional>
#include <string>

#include "calibrate/run_calibration.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// Precondition: the outcome has a profile.
Document calibration_document(const CalibrationOutcome& outcome);

/// A line for stderr if the device was lost during calibration; else nullopt.
std::optional<std::string> failure_of(const CalibrationOutcome& outcome);

}  // namespace roofcast
