// A plan's answer in words, the same on the terminal, in reports and in manifests.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

/// The answer as sentences: the best candidate and the next, or why there is none and what came
/// closest.
std::vector<std::string> plan_sentences(const PlanAnswer& answer);

/// The parts of its headline: what to run, its price, its prospects, and of a mix what it saves.
/// One if nothing was found.
std::vector<std::string> answer_parts(const PlanAnswer& answer);

/// Requests that the router sends to the pool: "prompts of up to 1,024 tokens", "chat, code".
std::string routed_text(const MixedPool& pool);

/// The pools of a mix, a row each.
Table pool_table(const MixedPlan& mix);

/// One sentence for every pool whose own requests miss a p95 target that all requests together
/// meet.
std::vector<std::string> missed_by_pools(const MixedPlan& mix);

/// The limit that a simulated candidate misses by most: "p95 TTFT 612.0 ms of 500.0 ms". Of one
/// that meets the SLO the probability, "at most" where that is below `least`, the one asked for:
/// what ruled the candidate out is an upper bound (confidence_for).
std::string miss_of(const CandidateFigures& result, const std::optional<double>& least = {});

/// One sentence per uncertain input: how far off it would have to be to flip the verdict.
std::vector<std::string> causes_of(const RankedPlan& one);

/// A candidate's result per limit of the SLO, a row each.
Table margin_table(const CandidateFigures& result);

/// The outcome in words, for a table: "does not fit in memory".
const char* reason_text(ShapeOutcome outcome);

/// "$21.00"
std::string dollars(double value);

}  // namespace roofcast
