// From what happened to each request to what a benchmark reports. Definitions as in
// `vllm bench serve`: TTFT and E2E from sending, TPOT one value a request, ITL pooled gaps.
#pragma once

#include <span>

#include "simulator/results/result.hpp"
#include "simulator/results/token_gaps.hpp"

namespace roofcast {

/// Fills counts, rates, distributions, goodput, stages, SLO outcomes, the replicas' shares and the
/// saturation verdict from result.requests. `now`: when the simulation ended. `stages`: of the
/// workload, as many as `gaps` has; none for a single one. The caller gives result.replicas its
/// size, when there are several.
void summarise(SimulationResult& result, const TokenGaps& gaps, const Slo& slo, Nanoseconds now,
               std::span<const LoadStage> stages = {});

}  // namespace roofcast
