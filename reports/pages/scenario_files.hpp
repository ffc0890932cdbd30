// Why a report must not simulate a stored scenario again: it names local files, or it is too large.
#pragma once

#include <cstdint>
#include <string>

#include "reports/pages/simulation_report.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Whether simulating it would open a file: a trace, lengths, or a model or profile given as a
/// path.
bool opens_files(const Scenario& scenario);

/// Why it is not simulated again within the effort, in a sentence; empty if it may be. `recorded`:
/// requests of the store's trace, if it is the load.
std::string beyond_effort(const Scenario& scenario, const ReportEffort& effort,
                          std::int64_t recorded = 0);

}  // namespace roofcast
