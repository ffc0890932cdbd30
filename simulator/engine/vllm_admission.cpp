#include "simulator/engine/vllm_admission.hpp"

#include <algorithm>
#include <cassert>

#include "simulator/engine/block_prefix.hpp"

namespace roofcast {
namespace {

/// How a waiting request would start.
struct Start {
  PrefixHit hit{};
  std::int64_t computed = 0;  // its tokens that need no computing
  std::int64_t tokens = 0;    // to compute in this step; 0: it cannot start
};

/// Blocks that stay free whoever is admitted. vLLM takes the fraction of all block ids, the null
/// block included, and none of them while nothing runs.
std::int64_t headroom(const EngineState& state) {
  if (state.running.empty()) return 0;
  const auto ids = static_cast<double>(state.blocks.usable() + 1);
  return static_cast<std::int64_t>(state.engine.watermark * ids);
}

/// Pool blocks of a hit that running requests hold: sharing them takes nothing from the pool.
std::int64_t shared_rows(const KvBlocks& blocks, const PrefixHit& hit) {
  return blocks.rows_of(hit.blocks) - hit.blocks.free;
}

/// Whether the pool has room for a request that starts so: for its whole sequence or for the first
/// chunk alone, by era, though only the chunk's blocks are taken now.
bool has_room(const EngineState& state, const RequestState& request, const Start& start) {
  const KvBlocks& blocks = state.blocks;
  const std::int64_t total = state.engine.reserve_full_sequence
                                 ? blocks.most_needed(request.tokens())
                                 : blocks.needed(start.computed + start.tokens, start.tokens);
  return total - shared_rows(blocks, start.hit) + headroom(state) <= blocks.free();
}

/// Whether this request found no room lately and cannot find any now.
bool still_blocked(const EngineState& state, const RequestState& request, RequestId id,
                   const BlockedHead& blocked) {
  if (!state.engine.reserve_full_sequence || blocked.id != id) return false;
  if (blocked.tokens != request.tokens() || blocked.gains != state.blocks.gains()) return false;
  const std::int64_t total = state.blocks.most_needed(request.tokens());
  return total - blocked.shared + headroom(state) > state.blocks.free();
}

Start start_of(EngineState& state, RequestId id, std::int64_t budget, BlockedHead& blocked) {
  const RequestState& request = state[id];
  Start start;
  if (still_blocked(state, request, id, blocked)) return start;
  if (request.received == 0) start.hit = find_prefix(state, id);
  start.computed = std::max(start.hit.tokens, request.received);
  const std::int64_t wanted = wanted_tokens(state.engine, request.tokens() - start.computed);
  if (!state.engine.chunked_prefill && wanted > budget) return start;
  const std::int64_t tokens = std::min(wanted, budget);
  start.tokens = tokens;
  if (has_room(state, request, start)) return start;
  start.tokens = 0;
  blocked = {.id = id,
             .tokens = request.tokens(),
             .shared = shared_rows(state.blocks, start.hit),
             .gains = state.blocks.gains()};
  return start;
}

}  // namespace

std::int64_t wanted_tokens(const Engine& engine, std::int64_t uncomputed) {
  const std::int64_t threshold = engine.long_prefill_token_threshold;
  return threshold > 0 ? std::min(uncomputed, threshold) : uncomputed;
}

void admit_waiting(EngineState& state, StepPlan& plan, std::int64_t budget, BlockedHead& blocked) {
  const auto places = static_cast<std::size_t>(state.engine.max_num_seqs);
  while (budget > 0 && !state.waiting.empty() && state.running.size() < places) {
    const RequestId id = state.waiting.front();
    const Start start = start_of(state, id, budget, blocked);
    if (start.tokens == 0) break;
    RequestState& request = state[id];
    take_prefix(state, id, start.hit);
    request.computed = start.computed;
    const bool grown = state.blocks.grow(request.kv, request.computed + start.tokens, start.tokens);
    assert(grown);
    static_cast<void>(grown);
    share_full_blocks(state, id, request.computed + start.tokens);
    state.waiting.pop_front();
    state.running.push_back(id);
    plan.admitted.push_back(id);
    plan.scheduled.push_back({id, start.tokens});
    budget -= start.tokens;
  }
}

}  // namespace roofcast
