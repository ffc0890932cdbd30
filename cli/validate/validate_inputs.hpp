// What a user gives to `roofcast validate`: manifests, results of benchmarks, folders of those; and
// the flags that say what such results ran on.
#pragma once

#include <string>
#include <vector>

#include "cli/options/simulate_command_options.hpp"
#include "reports/importers/importer.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct ValidationInputs {
  std::vector<std::string> files;
  ImportOptions import;                // of results
  SimulateOptions given;               // of results: what they ran on, over what their files say
  std::vector<std::string> arguments;  // as typed: flags of results are idle beside a manifest
};

/// The flags of results: --format, --meta, and what they ran on.
void add_result_options(Usage& usage, ValidationInputs& target);

/// The cases of all files in their order; of several files, or those of a folder, one that cannot
/// be read is a case with its problem. Throws Error for a single file that cannot be read,
/// UsageError for flags that say what a manifest says.
ValidationManifest read_inputs(const ValidationInputs& inputs);

}  // namespace roofcast
