// Everything of a store that can be reported on.
#pragma once

#include <string>

#include "reports/pages/ledger_report.hpp"
#include "reports/pages/profile_report.hpp"
#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// Of any run of the store at `store_path`. A simulation is simulated again for what is not stored,
/// and a capacity searched again. Throws Error when the effort's progress ends that.
Report run_report(const std::string& store_path, const Store& store, const Run& run,
                  const ReportEffort& effort);

}  // namespace roofcast
