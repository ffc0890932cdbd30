// The cost of generating without a KV cache, as exact counts and as times: the staircase.
#pragma once

#include <cstdint>
#include <vector>

#include "model/deployment.hpp"

namespace roofcast {

/// For a prompt of P tokens and G generated tokens, per layer and head.
struct Staircase {
  std::int64_t naive_kv_computations = 0;   // every step recomputes K/V of the whole sequence
  std::int64_t cached_kv_computations = 0;  // each token's K/V once: P + G
  double waste_factor = 0;                  // naive / cached
  std::int64_t attention_positions = 0;     // with cache: positions visited by all decode steps
  double mean_attention_positions = 0;      // per generated token
};

/// naive = sum over i in 1..G of (P + i - 1) = G*P + G*(G-1)/2; cached = P + G. Attention visits
/// the same positions: the token at position n attends to n. A prompt of 0 is a single start token,
/// whose position counts (P = 1) and whose own K/V are not among the cached P + G.
Staircase count_staircase(std::int64_t prompt, std::int64_t generate);

/// Positions that causal attention visits while computing the prompt: P * (P + 1) / 2.
std::int64_t prefill_attention_positions(std::int64_t prompt);

/// Mean tokens emitted per verification step with `drafts` draft tokens, each accepted with
/// probability `acceptance` given that its predecessors were: (1 - a^(k+1)) / (1 - a) (Leviathan et
/// al., arXiv 2211.17192, equation 1).
double tokens_per_speculative_step(double acceptance, int drafts);

/// Time of every generated token of one sequence, without and with a cache.
struct StaircaseTimes {
  std::vector<Seconds> naive{};   // token i: a prefill of P + i tokens, nothing cached
  std::vector<Seconds> cached{};  // token 0: the prompt's prefill; then decode steps
  Seconds naive_total{};
  Seconds cached_total{};
};

StaircaseTimes time_staircase(const Deployment& deployment, std::int64_t prompt,
                              std::int64_t generate);

/// How batching and speculation flatten the cached loop: the time of one sequence's token at the
/// middle of the generation.
struct FlattenedToken {
  std::int64_t batch = 1;
  int drafts = 0;              // 0: no speculation
  double tokens_per_step = 1;  // per sequence
  Seconds step{};              // of the whole batch
  Seconds per_token{};         // step / (batch * tokens_per_step): the GPU time per token
};

/// Batches of 1, 8 and 64, then the same with speculation if `drafts` is above 0. Drafting is free
/// here (n-gram lookup, or a draft model that is not counted).
std::vector<FlattenedToken> flatten_staircase(const Deployment& deployment, std::int64_t prompt,
                                              std::int64_t generate, double acceptance, int drafts);

}  // namespace roofcast
