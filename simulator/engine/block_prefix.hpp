// Prefix caching by whole blocks, as vLLM and TensorRT-LLM have it: what of a request is cached,
// taking it, and leaving blocks behind for others.
#pragma once

#include <cstdint>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// A request's cached beginning.
struct PrefixHit {
  std::int64_t tokens = 0;
  KvBlocks::Hit blocks{};
};

/// At most the whole blocks before the sequence's last token: that one is always computed, for its
/// logits (get_computed_blocks in vllm/v1/core/kv_cache_manager.py). Nothing when prefix caching is
/// off. Looks the keys up on first use.
PrefixHit find_prefix(EngineState& state, RequestId id);

/// An admitted request takes its hit: its blocks, and its tokens as computed.
void take_prefix(EngineState& state, RequestId id, const PrefixHit& hit);

/// Blocks that are full once the request has computed `tokens` can be hit from now on, by requests
/// of the same step too.
void share_full_blocks(EngineState& state, RequestId id, std::int64_t tokens);

/// Before a preemption: the request's own full blocks get names, so that it finds them again unless
/// they have been taken meanwhile.
void keep_own_blocks(EngineState& state, RequestId id);

/// Before a request that finished gives its blocks back: those that its session's next turn
/// repeats get names.
void share_generated_blocks(EngineState& state, RequestId id);

/// As find_prefix for a request that may not be in this engine.
std::int64_t cached_prompt_tokens(const EngineState& state, RequestId id);

}  // namespace roofcast
