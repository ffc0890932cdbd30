// The report on a calibration: the timed points, and the profile's curves made from them.
#pragma once

#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// `opens_files`: whether the written profile may be read for its curves.
Report calibration_report(const Store& store, const Run& run, bool opens_files);

}  // namespace roofcast
