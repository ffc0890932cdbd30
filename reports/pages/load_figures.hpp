// Latency under more and less load, with what was promised drawn.
#pragma once

#include <span>
#include <vector>

#include "planner/capacity/load_study.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// TTFT and TPOT at p50 and p95 over the output tokens served a second; points by load. None
/// without points.
std::vector<Figure> load_figures(const LoadStudy& study, std::span<const LoadPoint> points);

/// "8.00 requests/s", "32 requests in flight"
std::string load_text(const LoadStudy& study, double load);

}  // namespace roofcast
