// Reads what a validation compares: manifests, benchmark results, folders of those.
#pragma once

#include <string>
#include <vector>

#include "planner/flags/scenario_flags.hpp"
#include "reports/importers/importer.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct ValidationFiles {
  std::vector<std::string> files{};  // manifests, results, folders of results
  std::vector<MeasuredRun> runs{};   // already read, as from a store; after the files
  ImportOptions import{};            // for results: their format, and what they do not say
  ScenarioOptions given{};  // for results: what they ran on and their load, overriding their files
  /// The caller's name for the first of `import` and `given` that is set ("--gpu"); empty: none is.
  /// Given with a manifest, which states it itself, it is an error.
  std::string override_name{};
};

/// The cases of all files in order; among several files or in a folder, one that cannot be read
/// becomes a case with its problem. Throws Error for a single file that cannot be read, UsageError
/// for overrides of what a manifest states and for invalid ones.
ValidationManifest read_inputs(const ValidationFiles& inputs);

}  // namespace roofcast
