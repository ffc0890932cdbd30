// Scenario files (JSON, schema in scenario.schema.json): the same knobs as the command line.
#pragma once

#include <filesystem>
#include <string>

#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws Error naming file and key; an unknown key is an error with the nearest known one.
Scenario read_scenario(const std::string& path);
Scenario parse_scenario(const std::string& text, const std::string& where);

/// Makes the paths of the scenario's trace and lengths, which are relative to `folder`, relative to
/// the current directory: read_scenario does so with the folder of the file.
void resolve_workload_files(Scenario& scenario, const std::filesystem::path& folder);

/// The scenario as a JSON text that parse_scenario reads back to the same value; keys in a fixed
/// order, unset knobs left out.
std::string to_json(const Scenario& scenario);

}  // namespace roofcast
