// One value of a scenario by its place in the file: "workload.request_rate",
// "cluster.pools.0.replicas".
#pragma once

#include <optional>
#include <string>

#include "simulator/scenario.hpp"

namespace roofcast {

/// `scenario` with the value at `path` replaced, or added to an object: keys and, for lists,
/// positions from 0, between dots. `value` is read as JSON where that gives a scenario, else as a
/// text ("h100"). Throws UsageError for a position that a list does not have; Error as
/// parse_scenario for a key or value that is none.
Scenario with_value_at(const Scenario& scenario, const std::string& path, const std::string& value);

/// The number that is at `path`; nothing where there is none.
std::optional<double> number_at(const Scenario& scenario, const std::string& path);

}  // namespace roofcast
