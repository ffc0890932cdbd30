// Turns a run measured by another tool into a question: its hardware and load as scenario keys, as
// far as its file states them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/measured_run.hpp"

namespace roofcast {

/// The setting under the keys of a scenario file. Leaves out what is unknown, possibly even the
/// model; for the load see workload_of (measured_load.hpp).
nlohmann::json scenario_of(const MeasuredRun& run);

/// Figures and statistics that predictions have; figures of the workload itself are excluded.
const std::vector<std::string>& comparable_metrics();
const std::vector<std::string>& comparable_statistics();
std::vector<MetricRow> comparable_figures(const MeasuredRun& run);

}  // namespace roofcast
