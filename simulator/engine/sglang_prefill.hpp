// How SGLang fills a prefill batch (PrefillAdder in sglang/srt/managers/schedule_policy.py): a
// chunk of the prompt that was cut before, then waiting requests in their order, while the pool is
// expected to hold what they and the running ones will generate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_prefix.hpp"

namespace roofcast {

/// Output beyond this is not reserved for when a request is admitted
/// (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION).
inline constexpr std::int64_t kMaxReservedOutput = 4096;

/// Tokens that `blocks` blocks of the pool hold in the layers that keep all tokens. Unbounded for
/// models without such layers.
std::int64_t pool_tokens(const KvBlocks& pool, std::int64_t blocks);

/// What a prefill batch may still take.
struct PrefillBudget {
  double reserved = 0;          // tokens expected to be needed later, by running and admitted ones
  std::int64_t roundings = 0;   // tokens set aside for pages begun, part of `reserved`
  std::int64_t input_left = 0;  // max_prefill_tokens
  std::optional<std::int64_t> chunk_left{};  // chunked_prefill_size; none: prompts are not cut
};

/// The budget of a batch that holds `mixed_decodes` decodes too, beside `decoding` requests whose
/// remaining output is reserved for by `ratio`.
PrefillBudget prefill_budget(const EngineState& state, std::span<const RequestId> decoding,
                             double ratio, std::int64_t mixed_decodes);

/// The prompt that was cut goes on. Returns whether it is now whole; nothing when no part of it can
/// run in this step.
std::optional<bool> continue_prompt(EngineState& state, RequestId id, PrefillBudget& budget,
                                    StepPlan& plan);

/// What became of the request at the head of the queue, and so of those behind it.
struct Admission {
  bool cut = false;        // its first chunk only
  bool pool_full = false;  // nobody is admitted before a running request has left
  bool stop = false;       // nobody else is admitted in this step
};
Admission admit_next(EngineState& state, RadixPrefix& prefix, PrefillBudget& budget,
                     StepPlan& plan);

}  // namespace roofcast
