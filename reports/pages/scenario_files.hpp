// What of a stored scenario a report may not take up again: files of this machine, and sizes.
#pragma once

#include <string>

#include "reports/pages/simulation_report.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Whether simulating it would open a file: a trace, lengths, a model or a profile by path.
bool opens_files(const Scenario& scenario);

/// Why it is not simulated again within the effort, in a sentence; empty: it may be.
std::string beyond_effort(const Scenario& scenario, const ReportEffort& effort);

}  // namespace roofcast
