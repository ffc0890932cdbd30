// TPOT of inference-perf, whose 2025 releases recorded two events per token.
#pragma once

#include "reports/measured_run.hpp"

namespace roofcast {

/// Replaces TPOT by (E2E - TTFT) / (n - 1) of the means if the run's own contradicts that
/// definition. Its ITL is then wrong too, and both are renamed (reported_tpot_s, reported_itl_s).
/// Call it once latencies and lengths are set.
void check_token_times(MeasuredRun& run);

}  // namespace roofcast
