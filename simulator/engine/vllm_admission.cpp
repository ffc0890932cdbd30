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

/// Whether the pool has room for a request that starts so: for its whole sequence or for the first
/// chunk alone, by era, though only the chunk's blocks are taken now.
bool has_room(const EngineState& state, const RequestState& request, const Start& start,
              std::int64_t watermark_blocks) {
  const KvBlocks& blocks = state.blocks;
  const std::int64_t total = state.engine.reserve_full_sequence
                                 ? blocks.most_needed(request.tokens())
                                 : blocks.needed(start.computed + start.tokens, start.tokens);
  const std::int64_t more = total - blocks.rows_of(start.hit.blocks) + start.hit.blocks.free;
  const std::int64_t headroom = state.running.empty() ? 0 : watermark_blocks;
  return more + headroom <= blocks.free();
}

Start start_of(EngineState& state, RequestId id, std::int64_t budget,
               std::int64_t watermark_blocks) {
  const RequestState& request = state[id];
  Start start;
  if (request.received == 0) start.hit = find_prefix(state, id);
  start.computed = std::max(start.hit.tokens, request.received);
  const std::int64_t wanted = wanted_tokens(state.engine, request.tokens() - start.computed);
  if (!state.engine.chunked_prefill && wanted > budget) return start;
  const std::int64_t tokens = std::min(wanted, budget);
  start.tokens = tokens;
  if (!has_room(state, request, start, watermark_blocks)) start.tokens = 0;
  return start;
}

}  // namespace

std::int64_t wanted_tokens(const Engine& engine, std::int64_t uncomputed) {
  const std::int64_t threshold = engine.long_prefill_token_threshold;
  return threshold > 0 ? std::min(uncomputed, threshold) : uncomputed;
}

void admit_waiting(EngineState& state, StepPlan& plan, std::int64_t budget) {
  const Engine& engine = state.engine;
  const auto places = static_cast<std::size_t>(engine.max_num_seqs);
  // vLLM takes the fraction of all block ids, the null block included.
  const auto watermark_blocks =
      static_cast<std::int64_t>(engine.watermark * static_cast<double>(state.blocks.usable() + 1));
  while (budget > 0 && !state.waiting.empty() && state.running.size() < places) {
    const RequestId id = state.waiting.front();
    const Start start = start_of(state, id, budget, watermark_blocks);
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
