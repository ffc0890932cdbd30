// The report on a calibration: what was timed, and the curves that the profile has of it.
#pragma once

#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// `opens_files`: the profile that was written may be read for its curves.
Report calibration_report(const Store& store, const Run& run, bool opens_files);

}  // namespace roofcast
