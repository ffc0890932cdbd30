// The models, GPUs and engines that are built into the library, and their names.
#pragma once

#include <string>
#include <vector>

#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

struct EngineListEntry {
  std::string name{};       // "vllm-0.19"
  std::string summary{};    // what distinguishes it, one line
  bool is_default = false;  // used where none is named
};

/// All engine presets, oldest first for each engine.
std::vector<EngineListEntry> list_engines();

/// For callers that ask on behalf of others: throws UsageError, naming the key, if the model, GPU
/// or engine would be read from a file instead of being found by its name. Unset ones pass; GPUs
/// and engines that do not exist are refused when they are looked up.
void check_built_in(const DeploymentOptions& options);

}  // namespace roofcast
