// What answers leave in the store (reports/store.hpp).
#pragma once

#include <string>
#include <vector>

#include "reports/store.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

/// The capacity with its interval, the headroom and the probability. Precondition: it fits.
Run capacity_row(const CapacityAnswer& answer, const std::string& command_line);

/// The row of a plan that begins: a plan of the same row that did not come to its end is resumed.
RunRow plan_row(const PreparedPlan& prepared, const std::string& command_line);

/// What is added when it ends: its sentence, its JSON, and what the best runs on.
PlanEnd plan_end(const PlanAnswer& answer, const PreparedPlan& prepared);

/// Figures of the best.
std::vector<MetricRow> plan_metrics(const PlanAnswer& answer);

/// One run of kind "whatif" a variant that has figures, the baseline first: means over seeds, and
/// the differences of the metrics asked for under statistics such as "p95_difference",
/// "p95_difference_low" and "p95_difference_high".
std::vector<Run> what_if_runs(const WhatIfAnswer& answer, const std::string& command_line);

}  // namespace roofcast
