// How unevenly experts are picked, and what that leaves to the busiest rank.
#pragma once

#include <cstdint>
#include <vector>

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// How unevenly tokens pick experts; neither: all alike.
struct ExpertPopularity {
  /// Exponent of a bounded power law: x in [1, 0.8 tokens] with density proportional to x^-exponent
  /// (as the power-law rows of aiconfigurator's kernel tables are made; collector/helper.py,
  /// sample_power_law).
  double power_law = 0;
  /// Else the standard deviation of the shares' logarithms, which are normal.
  double log_spread = 0;

  bool is_even() const { return power_law <= 0 && log_spread <= 0; }
};

/// The popularity that was published for the model's experts; even where none was.
///
/// DeepSeek-R1: log_spread 1.075. TensorRT-LLM counted its picks by rank (README of its example
/// ep_load_balancer, 32 ranks, 4,096 tokens a step): their standard deviation is 0.480 of the mean
/// and the busiest rank has 2.56 times the mean, over layers and steps. Lognormal shares with that
/// deviation leave 2.47 times to the busiest rank; a power law leaves it 2.1 times, or has a
/// deviation of 0.62 where the busiest rank is as published (exponent 1.01).
///
/// Qwen3-30B-A3B, taken for all Qwen3 mixtures: log_spread 1.07. Counted by llama-imatrix over
/// 1,000 tokens of prose, code and mathematics, a layer's picks have an entropy of 0.889 of that of
/// even ones, 65 of 128 experts get 90 % of them and the first 4.3 % (gpu-container's handbook,
/// "Routing De-risk"). Lognormal shares with that entropy give 75 experts 90 % and the first 7.7 %.
ExpertPopularity published_popularity(const Transformer& model, const MoeFfn& experts);

/// Expected share of all picks that goes to each of `experts`, ascending. The quantiles of the law
/// stand for a draw. No expert is picked by a token more than once, so none has a share above
/// 1 / picks.
std::vector<double> expert_shares(std::int64_t experts, std::int64_t picks,
                                  const ExpertPopularity& popularity);

/// The probability that a token picks an expert, for each of a few classes of equally many experts
/// that are alike in popularity; empty if all are.
std::vector<double> pick_classes(const MoeFfn& experts, const ExpertPopularity& popularity);

/// Picks that the busiest of the expert ranks computes over those of the mean one, at least 1.
/// Experts lie on ranks by chance: the mean of many placements. With `balanced` (EPLB of
/// vLLM and SGLang) redundant copies go to the experts with the most picks per copy, one by one,
/// and copies to ranks so that the heaviest goes to the emptiest with room (deepseek-ai/EPLB,
/// replicate_experts and balanced_packing).
double busiest_rank_load(const MoeFfn& experts, const Parallelism& parallel,
                         const ExpertPopularity& popularity, bool balanced);

}  // namespace roofcast
