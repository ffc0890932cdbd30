// The command line of `roofcast capacity`.
#pragma once

#include <chrono>
#include <optional>

#include "cli/options/simulate_command_options.hpp"
#include "planner/capacity/capacity_answer.hpp"
#include "planner/capacity/growth.hpp"

namespace roofcast {

struct CapacityOptions {
  SimulateOptions simulate{};
  std::optional<double> min_goodput{};
  std::optional<Growth> growth{};
  std::optional<std::chrono::sys_days> from{};
  CapacityRequest request{};
};

/// Options that fill `target`, which must outlive the parse.
Usage capacity_usage(CapacityOptions& target);

/// What is searched. Throws UsageError for options that mean nothing together.
LoadStudy capacity_study(const CapacityOptions& options);

}  // namespace roofcast
