// What `roofcast measure` answers, and what it keeps in the store.
#pragma once

#include <string>

#include "calibrate/run_measurement.hpp"
#include "reports/document.hpp"
#include "reports/store.hpp"

namespace roofcast {

Document measure_document(const Measurement& measurement);

/// As a simulation's row, with kind "measure", the device's name where no profile was given, and
/// the textbook's figures among its metrics.
Run measure_row(const Measurement& measurement, const std::string& command_line,
                bool keep_requests);

}  // namespace roofcast
