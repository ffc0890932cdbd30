// A run that another tool measured as a question: what it ran on and under which load, in the words
// of a scenario, as far as its file says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/measured_run.hpp"

namespace roofcast {

/// The setting under the keys of a scenario file. What is not known is left out, the model too; the
/// load is workload_of's (measured_load.hpp).
nlohmann::json scenario_of(const MeasuredRun& run);

/// The figures and statistics that predictions have; figures of the workload itself are none.
const std::vector<std::string>& comparable_metrics();
const std::vector<std::string>& comparable_statistics();
std::vector<MetricRow> comparable_figures(const MeasuredRun& run);

}  // namespace roofcast
