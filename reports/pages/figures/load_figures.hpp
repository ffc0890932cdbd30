// Latency against load, with the SLO's limits.
#pragma once

#include <span>
#include <vector>

#include "reports/figures/figure.hpp"
#include "roofcast/capacity.hpp"

namespace roofcast {

/// TTFT and TPOT at p50 and p95 over output tokens per second, one point per load. Empty without
/// points.
std::vector<Figure> load_figures(const Slo& slo, std::span<const CapacityPoint> points);

/// "8.00 requests/s", "32 requests in flight"
std::string load_text(LoadKind kind, double load);

}  // namespace roofcast
