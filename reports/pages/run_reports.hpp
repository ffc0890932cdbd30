// Reports by kind of run; run_report() in reports/pages/reports.hpp picks one.
#pragma once

#include <string>

#include "reports/pages/report.hpp"
#include "reports/pages/simulation_report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// From the stored answer; for a store that lacks it, the run's figures and a line that says so.
Report capacity_report(const Store& store, const Run& run, const ReportEffort& effort);

/// Capacities on several GPUs, from the stored answer.
Report stored_capacity_table_report(const Store& store, const Run& run);

/// All variants of the answer against its baseline; for a store that lacks the answer, the run's
/// own figures and a line that says so.
Report what_if_report(const Store& store, const Run& run);

/// From the stored answer. Throws Error if the plan is unfinished.
Report plan_report(const std::string& store_path, const Run& run);

/// The timed points, and the curves of the profile made from them. `opens_files`: whether the
/// written profile may be read for its curves.
Report calibration_report(const Store& store, const Run& run, bool opens_files);

}  // namespace roofcast
