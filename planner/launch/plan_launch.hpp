// How to start what a plan answers: the engines' own command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch/serve_command_line.hpp"
#include "planner/search/plan_catalogue.hpp"

namespace roofcast {

/// What starts one replica; nothing for an engine without a server.
std::optional<ServeLine> serve_line_of(const PlanCatalogue& catalogue, const Shape& shape);

/// A command line a pool of `units` of the shape, with how often it is to be run; what no flag says
/// follows.
std::vector<std::string> launch_lines(const PlanCatalogue& catalogue, const Shape& shape,
                                      std::int64_t units);

}  // namespace roofcast
