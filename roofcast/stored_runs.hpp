// The runs of a store, and the step that stores a simulation.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/json.hpp"
#include "planner/scenario_run.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// Stores a simulation and what it costs, in one transaction; returns the run's id. `command_line`
/// is how the run can be repeated; `keep_requests` also stores one row per request.
std::int64_t store_simulation(Store& store, const SimulationRun& run,
                              const std::string& command_line, bool keep_requests = false);

/// Throws Error if there is no such run; `store_name` is what errors call the store.
Run stored_run(const Store& store, const std::string& store_name, std::int64_t id);

/// The columns of `runs`, without input and profile.
Json to_json(const RunRow& row);

/// What `roofcast runs -o json` prints.
Json runs_json(std::span<const RunRow> rows, const std::string& store_name);

/// What `roofcast runs ID -o json` prints. Throws Error if the stored input is not JSON.
Json run_json(const Run& run, const std::string& store_name);

}  // namespace roofcast
