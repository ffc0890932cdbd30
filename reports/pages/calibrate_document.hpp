// What `roofcast calibrate` prints.
#pragma once

#include <optional>
#include <string>

#include "reports/document.hpp"
#include "roofcast/calibrate.hpp"

namespace roofcast {

/// Precondition: the calibration is finished.
Document calibration_document(const CalibrationAnswer& answer);

/// A line for stderr if the device was lost during calibration; else nullopt.
std::optional<std::string> failure_of(const CalibrationAnswer& answer);

}  // namespace roofcast
