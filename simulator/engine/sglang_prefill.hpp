// How SGLang fills a prefill batch (PrefillAdder in sglang/srt/managers/schedule_policy.py): the
// next chunk of the prompt that was chunked before, then waiting requests in order, as long as the
// pool is expected to hold what they and the running ones will generate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_prefix.hpp"
#include "simulator/engine/sglang_windows.hpp"

namespace roofcast {

/// Admission reserves at most this many output tokens per request
/// (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION).
inline constexpr std::int64_t kMaxReservedOutput = 4096;

/// Tokens that `blocks` pool blocks hold in the layers that keep all tokens. Unbounded for models
/// without such layers.
std::int64_t pool_tokens(const KvBlocks& pool, std::int64_t blocks);

/// Remaining capacity of a prefill batch.
struct PrefillBudget {
  double reserved = 0;          // tokens that running and admitted requests are expected to need
                                // later
  std::int64_t roundings = 0;   // tokens reserved for partly filled pages, included in `reserved`
  std::int64_t input_left = 0;  // max_prefill_tokens
  std::optional<std::int64_t> chunk_left{};  // chunked_prefill_size; unset: prompts are not cut
  WindowPool windows{};
  std::int64_t window_left = 0;  // of it, less what admitted requests are expected to need
};

/// The budget of a batch with `mixed_decodes` decodes, while `decoding` requests have a share
/// `ratio` of their remaining output reserved.
PrefillBudget prefill_budget(const EngineState& state, const RadixPrefix& prefix,
                             std::span<const RequestId> decoding, double ratio,
                             std::int64_t mixed_decodes);

/// Continues the chunked prompt. Returns whether it is now complete; nullopt if no part of it can
/// run in this step.
std::optional<bool> continue_prompt(EngineState& state, RequestId id, PrefillBudget& budget,
                                    StepPlan& plan);

/// The outcome for the request at the head of the queue, and so for those behind it.
struct Admission {
  bool cut = false;        // its first chunk only
  bool pool_full = false;  // no request is admitted until a running one leaves
  bool stop = false;       // no other request is admitted in this step
};
Admission admit_next(EngineState& state, RadixPrefix& prefix, PrefillBudget& budget,
                     StepPlan& plan);

}  // namespace roofcast
