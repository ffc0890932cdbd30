// The report on a capacity, which is searched again.
#pragma once

#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// Falls back to what the store holds if the scenario can no longer be read or the search gives
/// another capacity. Throws Error if the effort's progress callback stops the work.
Report capacity_report(const Run& run, const ReportEffort& effort);

}  // namespace roofcast
