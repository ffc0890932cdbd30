// Rows that answers write to the store (reports/store.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/store.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

/// The capacity with its interval, the headroom and the probability. Precondition: it fits.
Run capacity_row(const CapacityAnswer& answer, const std::string& command_line);

/// One run for the whole table, with the figures of its first row.
Run capacity_table_row(const CapacityTableAnswer& answer, const std::string& command_line);

/// The row of a plan that starts: an unfinished plan with the same row is resumed.
RunRow plan_row(const PreparedPlan& prepared, const std::string& command_line);

/// The fields that are added when it ends: its sentence, its JSON, and what the best candidate runs
/// on.
PlanEnd plan_end(const PlanAnswer& answer, const PreparedPlan& prepared);

/// Figures of the best candidate.
std::vector<MetricRow> plan_metrics(const PlanAnswer& answer);

/// One run of kind "whatif" per variant that has figures, the baseline first: means over seeds, and
/// the differences of the requested metrics under statistics such as "p95_difference",
/// "p95_difference_low" and "p95_difference_high".
std::vector<Run> what_if_runs(const WhatIfAnswer& answer, const std::string& command_line);

/// The stored answer, with what its JSON lacks from its runs: labels and all figures. Throws Error
/// if it is not the JSON of a what-if, or has more variants with figures than there are runs.
WhatIfAnswer what_if_of(const Json& json, std::span<const Run> runs);

}  // namespace roofcast
