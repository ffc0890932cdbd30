// Prefix caching by whole blocks, as in vLLM and TensorRT-LLM: finding and taking a request's
// cached prefix, and caching blocks for other requests.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// The cached prefix of a request.
struct PrefixHit {
  std::int64_t tokens = 0;
  KvBlocks::Hit blocks{};
  bool too_early = false;  // its state is written in this step: the request has to wait
};

/// If hits need a state of recurrent layers, up to the last block with one. At most the whole
/// blocks before the sequence's last token, which is always computed for its logits
/// (get_computed_blocks in vllm/v1/core/kv_cache_manager.py). Empty if prefix caching is off.
/// Computes the request's keys on first use.
PrefixHit find_prefix(EngineState& state, RequestId id);

/// An admitted request takes the blocks of its hit; the hit's tokens count as computed.
void take_prefix(EngineState& state, RequestId id, const PrefixHit& hit);

/// Blocks that will be full once the request has computed `tokens` tokens can be hit from now on,
/// even by requests of the same step.
void share_full_blocks(EngineState& state, RequestId id, std::int64_t tokens);

/// Before a preemption: gives the request's full private blocks keys, so that it can find them
/// again unless they have been reused.
void keep_own_blocks(EngineState& state, RequestId id);

/// After a preempted request has released its blocks: its state at the end of its last full block
/// stays in the cache, if hits need one.
void keep_own_state(EngineState& state, RequestId id);

/// Before a finished request releases its blocks: gives keys to those that its session's next turn
/// repeats. Returns the key of the last of them.
std::optional<BlockKey> share_generated_blocks(EngineState& state, RequestId id);

/// Like find_prefix, for a request that may not be in this engine.
std::int64_t cached_prompt_tokens(const EngineState& state, RequestId id);

}  // namespace roofcast
