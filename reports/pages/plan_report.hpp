// The report on a plan, from the answer that the store keeps.
#pragma once

#include <string>
#include <vector>

#include "reports/pages/report.hpp"
#include "reports/store.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

/// Price against latency and against what each finalist carries, the chosen one marked. None
/// without finalists.
std::vector<Figure> plan_figures(const PlanAnswer& answer);

/// Throws Error when the plan did not come to its end.
Report plan_report(const std::string& store_path, const Run& run);

}  // namespace roofcast
