// Why a report must not simulate a stored scenario again: it names local files, or it is too large.
#pragma once

#include <string>

#include "reports/pages/simulation_report.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Whether simulating it would open a file: a trace, lengths, or a model or profile given as a
/// path.
bool opens_files(const Scenario& scenario);

/// Why it is not simulated again within the effort, in a sentence; empty if it may be.
std::string beyond_effort(const Scenario& scenario, const ReportEffort& effort);

}  // namespace roofcast
