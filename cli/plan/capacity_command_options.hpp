// The command line of `roofcast capacity`.
#pragma once

#include <chrono>
#include <optional>

#include "cli/options/simulate_command_options.hpp"
#include "roofcast/capacity.hpp"

namespace roofcast {

struct CapacityOptions {
  SimulateOptions simulate{};
  std::optional<double> min_goodput{};
  std::optional<Growth> growth{};
  std::optional<std::chrono::sys_days> from{};
  bool explain = false;
  bool lose_one = false;
};

/// Options that fill `target`, which must outlive the parse.
Usage capacity_usage(CapacityOptions& target);

/// The question. Throws UsageError for options that cannot be combined.
CapacityQuestion capacity_question(const CapacityOptions& options);

}  // namespace roofcast
