// The cost of generating without a KV cache, counted exactly and timed: the staircase.
#pragma once

#include <cstdint>
#include <vector>

#include "model/deployment.hpp"

namespace roofcast {

/// For a prompt of P tokens and G generated ones, per layer and head.
struct Staircase {
  std::int64_t naive_kv_computations = 0;   // every step recomputes K/V of the whole sequence
  std::int64_t cached_kv_computations = 0;  // each token's K/V once: P + G
  double waste_factor = 0;                  // naive / cached
  std::int64_t attention_positions = 0;     // cached loop: positions visited by all decode steps
  double mean_attention_positions = 0;      // per generated token
};

/// naive = sum over i in 1..G of (P + i - 1) = G*P + G*(G-1)/2; cached = P + G. Attention visits
/// the same positions: the token at position n looks at n. A prompt of 0 is a start token alone,
/// whose position counts (P = 1) and whose own K/V are not among the cached P + G.
Staircase count_staircase(std::int64_t prompt, std::int64_t generate);

/// Positions that causal attention visits while the prompt is computed: P * (P + 1) / 2.
std::int64_t prefill_attention_positions(std::int64_t prompt);

/// Mean tokens emitted per verification step with `drafts` draft tokens, each accepted with
/// probability `acceptance` given its predecessors were: (1 - a^(k+1)) / (1 - a)
/// (Leviathan et al., arXiv 2211.17192, equation 1).
double tokens_per_speculative_step(double acceptance, int drafts);

/// Time of every generated token of one sequence, both ways.
struct StaircaseTimes {
  std::vector<Seconds> naive{};   // token i: a prefill of P + i tokens, nothing cached
  std::vector<Seconds> cached{};  // token 0: the prompt's prefill; then decode steps
  Seconds naive_total{};
  Seconds cached_total{};
};

StaircaseTimes time_staircase(const Deployment& deployment, std::int64_t prompt,
                              std::int64_t generate);

/// How batching and speculation flatten the cached loop: the time of one token of one sequence at
/// the middle of the generation.
struct FlattenedToken {
  std::int64_t batch = 1;
  int drafts = 0;              // 0: no speculation
  double tokens_per_step = 1;  // of one sequence
  Seconds step{};              // of the whole batch
  Seconds per_token{};         // step / (batch * tokens_per_step): what one token costs the GPU
};

/// Batches of 1, 8 and 64, then the same with speculation when `drafts` is above 0. Drafting is
/// free here (n-gram lookup, or a draft model that is not counted).
std::vector<FlattenedToken> flatten_staircase(const Deployment& deployment, std::int64_t prompt,
                                              std::int64_t generate, double acceptance, int drafts);

}  // namespace roofcast
