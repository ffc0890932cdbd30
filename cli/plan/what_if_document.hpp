// What `roofcast whatif` answers and keeps in the store.
#pragma once

#include <string>
#include <vector>

#include "planner/what_if/run_what_if.hpp"
#include "reports/document.hpp"
#include "reports/store.hpp"

namespace roofcast {

Document what_if_document(const WhatIfAnswer& answer);

/// One run of kind "whatif" a variant that has figures, the baseline first: means over seeds, and
/// the differences of the metrics asked for under statistics such as "p95_difference",
/// "p95_difference_low" and "p95_difference_high".
std::vector<Run> what_if_runs(const WhatIfAnswer& answer, const std::string& command_line);

/// "TTFT p95", "output tokens /s".
std::string title_of(const MetricName& metric);

/// A value or a difference in the metric's unit, as a person reads it: "412 ms", "+1.20 s".
std::string metric_text(const MetricName& metric, double value);
std::string difference_text(const MetricName& metric, double value);

}  // namespace roofcast
