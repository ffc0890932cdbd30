// All flags that change a scenario.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/flags/cluster_flags.hpp"
#include "planner/flags/workload_flags.hpp"
#include "simulator/deployment_options.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

struct PricingOptions {
  std::optional<std::string> table{};
  std::optional<PriceKind> kind{};
};

/// --prices and --pricing.
const Flags<PricingOptions>& pricing_flags();

/// Values of the flags; unset ones follow the scenario.
struct ScenarioOptions {
  DeploymentOptions deployment{};
  ClusterOptions cluster{};
  WorkloadOptions workload{};
  PricingOptions pricing{};
};

/// `scenario` overridden by `options`. Throws UsageError naming the flag that contradicts another,
/// or that a pool of the scenario would not follow.
Scenario with_options(Scenario scenario, const ScenarioOptions& options);

/// All of them.
const Flags<ScenarioOptions>& scenario_flags();

/// Their names, without dashes.
std::vector<std::string> scenario_flag_names();

/// The flag that `word` is an alias of: "tensor-parallel-size" for "--tp"; empty if none. Aliases
/// work for options of that name in every command.
std::string_view flag_with_alias(std::string_view word);

/// "-tp", "--tp" ... for "tensor-parallel-size".
std::vector<std::string> aliases_of_flag(std::string_view flag);

/// The key in a scenario file that the flag sets; empty if there is no single one.
std::string_view place_of_flag(std::string_view flag);

/// `scenario` overridden by --flag=text; a toggle takes a switch value, and "off" changes nothing.
/// Throws UsageError as the flag does. Precondition: `flag` is in scenario_flag_names().
Scenario with_flag(const Scenario& scenario, const std::string& flag, const std::string& text);

}  // namespace roofcast
