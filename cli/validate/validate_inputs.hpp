// Inputs of `roofcast validate`: manifests, benchmark results, folders of those; and the flags for
// what such results ran on.
#pragma once

#include <string>
#include <vector>

#include "cli/options/simulate_command_options.hpp"
#include "reports/importers/importer.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct ValidationInputs {
  std::vector<std::string> files;
  ImportOptions import;                // for results
  SimulateOptions given;               // for results: what they ran on, overriding their files
  std::vector<std::string> arguments;  // as typed: flags for results have no effect on a manifest
};

/// Flags for results: --format, --meta, and what they ran on.
void add_result_options(Usage& usage, ValidationInputs& target);

/// The cases of all files in order; among several files or in a folder, one that cannot be read
/// becomes a case with its problem. Throws Error for a single file that cannot be read, UsageError
/// for flags that set what a manifest states.
ValidationManifest read_inputs(const ValidationInputs& inputs);

}  // namespace roofcast
