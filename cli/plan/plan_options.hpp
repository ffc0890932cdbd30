// The command line of `roofcast plan`.
#pragma once

#include <string>
#include <vector>

#include "cli/default_store.hpp"
#include "planner/launch/plan_targets.hpp"
#include "roofcast/arguments.hpp"

namespace roofcast {

struct PlanCommandOptions {
  PlanArguments asked{};
  StoreOptions store{};
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

/// The question that the options ask of this build of the program. Throws as question_of().
PlanQuestion plan_question(const PlanCommandOptions& options);

}  // namespace roofcast
