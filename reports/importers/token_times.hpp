// TPOT of inference-perf, whose releases of 2025 counted two events a token.
#pragma once

#include "reports/measured_run.hpp"

namespace roofcast {

/// Takes TPOT by its definition, (E2E - TTFT) / (n - 1) of the means, where the run's own does not
/// follow it; then neither do its gaps, and both keep names of their own (reported_tpot_s,
/// reported_itl_s). To be called when latencies and lengths are in.
void check_token_times(MeasuredRun& run);

}  // namespace roofcast
