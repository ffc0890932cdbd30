// The command line of `roofcast plan`.
#pragma once

#include <string>
#include <vector>

#include "cli/options/simulate_command_options.hpp"
#include "planner/launch/plan_targets.hpp"
#include "roofcast/search_flags.hpp"

namespace roofcast {

struct PlanCommandOptions {
  SimulateOptions simulate{};  // scenario file, model, load, SLO; --gpu may list several
  PlanOptions plan{};
  std::string kubernetes{};            // file to write; empty: none
  std::vector<std::string> emitted{};  // "kserve=service.yaml"
};

/// A file that is written for the best deployment.
struct PlanFile {
  LaunchTarget target = LaunchTarget::kubernetes;
  std::string path{};
  std::string flag{};  // "--kubernetes", for messages
};

/// Those of --kubernetes and --emit. Throws UsageError for an unknown target and a path given
/// twice.
std::vector<PlanFile> plan_files(const PlanCommandOptions& options);

/// Options that fill `target`, which must outlive the parse.
Usage plan_usage(PlanCommandOptions& target);

/// The question. Throws UsageError for options that are missing, contradictory or without effect.
PlanQuestion plan_question(const PlanCommandOptions& options);

}  // namespace roofcast
