// The report on a plan, from its stored answer.
#pragma once

#include <string>
#include <vector>

#include "reports/pages/report.hpp"
#include "reports/store.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

/// Price against latency, and against each finalist's capacity, with the chosen one marked. Empty
/// without finalists.
std::vector<Figure> plan_figures(const PlanAnswer& answer);

/// Throws Error if the plan is unfinished.
Report plan_report(const std::string& store_path, const Run& run);

}  // namespace roofcast
