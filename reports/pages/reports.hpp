// Reports on any run of a store.
#pragma once

#include <string>

#include "reports/pages/ledger_report.hpp"
#include "reports/pages/profile_report.hpp"
#include "reports/pages/simulation_report.hpp"

namespace roofcast {

/// The report on one run of the store at `store_path`. Simulations are repeated, because not
/// everything of them is stored. Throws Error if the effort's progress callback stops that.
Report run_report(const std::string& store_path, const Store& store, const Run& run,
                  const ReportEffort& effort);

}  // namespace roofcast
