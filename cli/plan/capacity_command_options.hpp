// The command line of `roofcast capacity`.
#pragma once

#include "cli/options/simulate_command_options.hpp"

namespace roofcast {

struct CapacityCommandOptions {
  SimulateOptions simulate{};
  CapacityOptions capacity{};
};

/// Options that fill `target`, which must outlive the parse.
Usage capacity_usage(CapacityCommandOptions& target);

/// The question. Throws UsageError for options that cannot be combined.
CapacityQuestion capacity_question(const CapacityCommandOptions& options);

}  // namespace roofcast
