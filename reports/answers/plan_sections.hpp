// A plan as sentences and tables, for the terminal and for its report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/document.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

/// "p95 TTFT ≤ 500.0 ms, p95 TPOT ≤ 50.0 ms": what the deployments must hold.
std::string promises_of(const PlanInputs& inputs);

/// The answer with the ranked deployments, the pools of a mix, the margins and limits of the first,
/// the load by the hour, and why others were rejected. How to start it is left out.
std::vector<Section> plan_sections(const PlanAnswer& answer);

/// The commands that start the best, a line each; lines that end with a colon name the servers of
/// those below. Nullopt if there is nothing to start.
std::optional<Section> launch_section(const PlanAnswer& answer);

}  // namespace roofcast
