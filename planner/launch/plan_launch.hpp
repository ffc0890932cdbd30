// How to start the deployments of a plan: the engines' own command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch/serve_command_line.hpp"
#include "planner/search/plan_catalogue.hpp"

namespace roofcast {

/// The command that starts one replica; nullopt for an engine without a server.
std::optional<ServeLine> serve_line_of(const PlanCatalogue& catalogue, const Shape& shape);

/// One command line per pool of `units` of the shape, with how often to run it; then notes on what
/// no flag can express.
std::vector<std::string> launch_lines(const PlanCatalogue& catalogue, const Shape& shape,
                                      std::int64_t units);

}  // namespace roofcast
