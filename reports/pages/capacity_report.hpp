// The report on a capacity, searched again.
#pragma once

#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// What the store holds alone where the scenario can no longer be read or the search comes to
/// another capacity. Throws Error once the effort's progress ends it.
Report capacity_report(const Run& run, const ReportEffort& effort);

}  // namespace roofcast
