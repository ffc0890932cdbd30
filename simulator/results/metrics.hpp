// From what happened to each request to what a benchmark reports. Definitions as in
// `vllm bench serve`: TTFT and E2E from sending, TPOT one value a request, ITL pooled gaps.
#pragma once

#include "simulator/results/result.hpp"
#include "simulator/results/token_gaps.hpp"

namespace roofcast {

/// One request's value in seconds; nothing when it did not finish. TPOT of a single token is 0,
/// ITL is the longest gap: the meanings that a limit on one request has.
std::optional<double> latency_of(const RequestRecord& record, LatencyMetric metric);

/// Fills counts, rates, distributions, goodput, SLO outcomes and the saturation verdict from
/// result.requests. `now`: when the simulation ended.
void summarise(SimulationResult& result, const TokenGaps& gaps, const Slo& slo, Nanoseconds now);

}  // namespace roofcast
