// How to start what a plan answers: the engines' own command lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/plan/plan_document.hpp"
#include "planner/launch/serve_command_line.hpp"

namespace roofcast {

/// What starts one replica; nothing for an engine without a server.
std::optional<ServeLine> serve_line_of(const PlanCatalogue& catalogue, const Shape& shape);

/// A command line a pool, with how often it is to be run; what no flag says follows.
std::vector<std::string> launch_lines(const PlanReport& report, const RankedCandidate& one);

}  // namespace roofcast
