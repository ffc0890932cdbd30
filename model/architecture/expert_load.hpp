// How unevenly experts are picked, and what that leaves to the busiest rank.
#pragma once

#include <cstdint>
#include <vector>

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Expected share of all picks that goes to each of `experts`, ascending, when picks are drawn from
/// a bounded power law: x in [1, 0.8 tokens] with density proportional to x^-exponent (as the
/// power-law rows of aiconfigurator's kernel tables are made; collector/helper.py,
/// sample_power_law). The quantiles of the law stand for a draw. No expert is picked by a token
/// more than once, so none has a share above 1 / picks. `exponent` 0: all alike.
std::vector<double> expert_shares(std::int64_t experts, std::int64_t picks, double exponent);

/// Picks that the busiest of the expert ranks computes over those of the mean one, at least 1.
/// Experts lie on ranks by chance: the mean of many placements. With `balanced` (EPLB of
/// vLLM and SGLang) redundant copies go to the experts with the most picks per copy, one by one,
/// and copies to ranks so that the heaviest goes to the emptiest with room (deepseek-ai/EPLB,
/// replicate_experts and balanced_packing).
double busiest_rank_load(const MoeFfn& experts, const Parallelism& parallel, double exponent,
                         bool balanced);

}  // namespace roofcast
