// Computes benchmark figures from the request records. Definitions as in `vllm bench serve`: TTFT
// and E2E from sending, one TPOT value per request, ITL gaps pooled.
#pragma once

#include <span>

#include "simulator/results/result.hpp"
#include "simulator/results/token_gaps.hpp"

namespace roofcast {

/// Fills counts, rates, distributions, goodput, stages, SLO outcomes, per-replica counts and the
/// saturation verdict from result.requests. `now` is when the simulation ended. `stages` are the
/// workload's, as many as `gaps` has, or empty if there is only one. The caller resizes
/// result.replicas if there are several. Latencies are those of requests whose first tokens took
/// `first_token_factor` times as long, and later tokens as long after these; the load's end and
/// rates, result.requests and the saturation verdict are not changed by it.
void summarise(SimulationResult& result, const TokenGaps& gaps, const Slo& slo, Nanoseconds now,
               std::span<const LoadStage> stages = {}, double first_token_factor = 1);

/// The result as summarise() fills it in with that factor, from one that it filled in with the same
/// SLO and stages and no factor, without simulating again: late first tokens delay nothing else.
/// Gaps between tokens stay as they are. Precondition: every request
/// has an outcome.
SimulationResult with_late_first_tokens(const SimulationResult& result, const Slo& slo,
                                        std::span<const LoadStage> stages,
                                        double first_token_factor);

}  // namespace roofcast
