// The output of `roofcast measure`, and its row in the store.
#pragma once

#include <string>

#include "calibrate/run_measurement.hpp"
#include "reports/document.hpp"
#include "reports/store.hpp"

namespace roofcast {

Document measure_document(const Measurement& measurement);

/// Like a simulation's row, with kind "measure", the device's name if no profile was given, and the
/// textbook figures among its metrics.
Run measure_row(const Measurement& measurement, const std::string& command_line,
                bool keep_requests);

}  // namespace roofcast
