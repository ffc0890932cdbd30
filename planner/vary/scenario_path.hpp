// One value of a scenario by its path in the file: "workload.request_rate",
// "cluster.pools.0.replicas".
#pragma once

#include <optional>
#include <string>

#include "simulator/scenario.hpp"

namespace roofcast {

/// `scenario` with the value at `path` replaced, or added to an object. A path is keys and list
/// indices (from 0) separated by dots. `value` is read as JSON if that gives a valid scenario, else
/// as a string ("h100"). Throws UsageError for an index out of range, and Error as parse_scenario
/// does for an invalid key or value.
Scenario with_value_at(const Scenario& scenario, const std::string& path, const std::string& value);

/// The number at `path`; nullopt if there is none.
std::optional<double> number_at(const Scenario& scenario, const std::string& path);

}  // namespace roofcast
