// Every flag that says what is simulated, put over a scenario.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/deploy.hpp"
#include "planner/flags/cluster_flags.hpp"
#include "planner/flags/workload_flags.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// What flags said; unset values follow the scenario.
struct ScenarioOptions {
  DeploymentOptions deployment{};
  ClusterOptions cluster{};
  WorkloadOptions workload{};
};

/// `scenario` with what was given on top. Throws UsageError naming the flag that contradicts
/// another, or that a pool of the scenario would not follow.
Scenario with_options(Scenario scenario, const ScenarioOptions& options);

/// Names of all flags, without dashes.
std::vector<std::string> scenario_flag_names();

/// The flag that `word` is another spelling of, as "--tp" of "tensor-parallel-size"; empty for
/// none. The spellings hold for options of that name in every command.
std::string_view flag_with_alias(std::string_view word);

/// "-tp", "--tp" ... of "tensor-parallel-size".
std::vector<std::string> aliases_of_flag(std::string_view flag);

/// Where a scenario file has what the flag sets; empty when it has no one place.
std::string_view place_of_flag(std::string_view flag);

/// `scenario` with --flag=text put over it; a toggle takes a switch, of which off changes nothing.
/// Throws UsageError as the flag does. Precondition: `flag` is of scenario_flag_names().
Scenario with_flag(const Scenario& scenario, const std::string& flag, const std::string& text);

}  // namespace roofcast
