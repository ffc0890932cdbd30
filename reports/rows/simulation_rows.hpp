// A simulation as rows, for the store and for --requests-out.
#pragma once

#include <string>
#include <vector>

#include "planner/scenario/simulation_run.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Makes paths absolute: the store may be read from another directory than that of the run.
Scenario with_absolute_paths(Scenario scenario);

/// The figures of the result under the store's names.
std::vector<MetricRow> simulation_metrics(const SimulationRun& run);

/// The cost of the run under the store's names; empty if a GPU has no price.
std::vector<MetricRow> cost_metrics(const SimulationRun& run);

/// `keep_requests`: also one row per request.
Run simulation_row(const SimulationRun& run, const std::string& command_line, bool keep_requests);

/// One row per request, with empty times for events that did not happen; JSONL if `path` ends in
/// .jsonl, else CSV. Throws Error if the file cannot be written completely.
void write_requests(const SimulationRun& run, const std::string& path);

}  // namespace roofcast
