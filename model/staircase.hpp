// The cost of generating without a KV cache, counted exactly: the staircase.
#pragma once

#include <cstdint>

namespace roofcast {

/// For a prompt of P tokens and G generated ones, per layer and head.
struct Staircase {
  std::int64_t naive_kv_computations = 0;   // every step recomputes K/V of the whole sequence
  std::int64_t cached_kv_computations = 0;  // each token's K/V once: P + G
  double waste_factor = 0;                  // naive / cached
  std::int64_t attention_positions = 0;     // cached loop: positions visited by all decode steps
  double mean_attention_positions = 0;      // per generated token
};

/// naive = sum over i in 1..G of (P + i - 1) = G*P + G*(G-1)/2; cached = P + G.
Staircase count_staircase(std::int64_t prompt, std::int64_t generate);

/// Mean tokens emitted per verification step with `drafts` draft tokens, each accepted with
/// probability `acceptance` given its predecessors were: (1 - a^(k+1)) / (1 - a)
/// (Leviathan et al., arXiv 2211.17192, equation 1).
double tokens_per_speculative_step(double acceptance, int drafts);

}  // namespace roofcast
