// The cost of generating without a KV cache, as exact counts and as times: the staircase.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/deployment.hpp"

namespace roofcast {

/// For a prompt of P tokens and G generated tokens, per layer and head.
struct Staircase {
  std::int64_t naive_kv_computations = 0;      // every step recomputes K/V of the whole sequence
  std::int64_t cached_kv_computations = 0;     // each token's K/V once, as textbooks count: P + G
  std::int64_t needed_kv_computations = 0;     // those that a later token reads: P + G - 1
  std::int64_t redundant_kv_computations = 0;  // naive - needed
  double waste_factor = 0;                     // naive / cached
  double growth_if_doubled = 0;                // naive for 2 G over naive for G; between 2 and 4
  std::int64_t attention_positions = 0;        // with cache: visited for the generated tokens
  double mean_attention_positions = 0;         // per generated token
  /// Without a cache: every position of the sequence visits those up to itself, in every step.
  /// Unset beyond 64 bits.
  std::optional<std::int64_t> naive_attention_positions{};
};

/// naive = sum over i in 1..G of (P + i - 1) = G*P + G*(G-1)/2; cached = P + G. Nothing reads the
/// K/V of the last token, so that a loop needs one computation less. With a cache attention visits
/// as many positions as the naive loop computes: the token at position n attends to n. Without one
/// a step on a sequence of n tokens visits n*(n+1)/2, in all C(P+G+1, 3) - C(P+1, 3). A prompt of 0
/// is a single start token, whose position counts (P = 1) and whose own K/V are needed, but not
/// among the cached P + G.
Staircase count_staircase(std::int64_t prompt, std::int64_t generate);

/// One step of the naive loop.
struct StaircaseStep {
  std::int64_t computed = 0;   // positions whose K/V it computes: the whole sequence so far
  std::int64_t redundant = 0;  // of them, those that an earlier step has computed
};

/// Step by position.
struct StaircaseGrid {
  std::vector<StaircaseStep> steps{};
  std::vector<std::int64_t> times_computed{};  // by position; of the prompt's: once a step
};

/// Memory grows with `generate` and `prompt`.
StaircaseGrid staircase_grid(std::int64_t prompt, std::int64_t generate);

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

/// Speculative decoding of the same sequence.
struct Drafting {
  double acceptance = 0;  // of each draft, if those before it were accepted
  int drafts = 0;         // per step; 0: none
  Seconds pass{};         // of the draft model, per draft of the whole batch; 0: drafting is free
};

/// How batching and speculation flatten the cached loop: the time of one sequence's token at the
/// middle of the generation.
struct FlattenedToken {
  std::int64_t batch = 1;
  int drafts = 0;              // 0: no speculation
  double tokens_per_step = 1;  // per sequence
  Seconds step{};              // of the whole batch, drafting included
  Seconds per_token{};         // step / (batch * tokens_per_step): the GPU time per token
  /// With drafts: the Drafting::pass at which a token takes as long as without; less pays for
  /// itself. Below 0: drafts do not pay even if they are free.
  std::optional<Seconds> break_even_pass{};
};

/// Batches of 1, 8 and 64, then the same with speculation if there are drafts. Memory is not
/// checked.
std::vector<FlattenedToken> flatten_staircase(const Deployment& deployment, std::int64_t prompt,
                                              std::int64_t generate, const Drafting& drafting = {});

}  // namespace roofcast
