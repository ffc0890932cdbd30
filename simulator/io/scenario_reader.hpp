// Reads and writes scenario files (JSON, schema in scenario.schema.json), which have the same
// options as the command line.
#pragma once

#include <filesystem>
#include <string>

#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws Error naming file and key; for an unknown key it suggests the nearest known one.
Scenario read_scenario(const std::string& path);
Scenario parse_scenario(const std::string& text, const std::string& where);

/// Paths of the scenario's trace and lengths are relative to `folder`; makes them relative to the
/// current directory. read_scenario does this with the folder of the file.
void resolve_workload_files(Scenario& scenario, const std::filesystem::path& folder);

/// The scenario as JSON text that parse_scenario parses to the same value; keys in a fixed order,
/// without unset ones.
std::string to_json(const Scenario& scenario);

}  // namespace roofcast
