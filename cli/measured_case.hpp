// A run that another tool measured as a question: what it ran on and under which load, in the words
// of a scenario, as far as its file says.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/measured_run.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// The setting under the keys of a scenario file. What is not known is left out, the model too. The
/// load is the run's own requests where it has them (a trace named by the run's origin), else drawn
/// with its mean lengths and rate; left out where neither is known.
nlohmann::json scenario_of(const MeasuredRun& run);

/// The run's requests as they left the client. Those of a closed loop without a rate are all there
/// at the start and wait for its limit; without arrival times they are drawn at the run's rate.
/// Failed ones are left out. Nothing where the run keeps no requests. Throws Error for times and
/// lengths that no server saw.
std::optional<Workload> recorded_workload(const MeasuredRun& run);

/// The figures and statistics that predictions have; figures of the workload itself are none.
const std::vector<std::string>& comparable_metrics();
const std::vector<std::string>& comparable_statistics();
std::vector<MetricRow> comparable_figures(const MeasuredRun& run);

}  // namespace roofcast
