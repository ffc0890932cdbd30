// A simulation as rows: what the store keeps of it and what --requests-out writes.
#pragma once

#include <string>
#include <vector>

#include "planner/scenario_run.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// The store may be read from another directory than the one that the run was made in.
Scenario with_absolute_paths(Scenario scenario);

/// The figures of the result, as the store names them.
std::vector<MetricRow> simulation_metrics(const SimulationRun& run);

/// What the run costs, as the store names it; empty where a GPU has no price.
std::vector<MetricRow> cost_metrics(const SimulationRun& run);

/// `keep_requests`: one row per request as well.
Run simulation_row(const SimulationRun& run, const std::string& command_line, bool keep_requests);

/// One row per request, empty times for what has not happened; JSONL for a path that ends in
/// .jsonl, else CSV. Throws Error when the file cannot be written whole.
void write_requests(const SimulationRun& run, const std::string& path);

}  // namespace roofcast
