#include "simulator/engine/vllm_admission.hpp"

#include <algorithm>
#include <cassert>

#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/running_adapters.hpp"

namespace roofcast {
namespace {

/// How a waiting request would start.
struct Start {
  PrefixHit hit{};
  std::int64_t computed = 0;  // tokens already cached
  std::int64_t tokens = 0;    // to compute in this step; 0: it cannot start
  bool loads = false;         // K and V are being loaded from host memory instead
  std::int64_t chunks = 0;    // tokens in LMCache's chunks, which the step itself loads
};

/// Blocks that stay free whatever is admitted. vLLM takes a fraction of all block ids, the null
/// block included, and 0 while nothing runs.
std::int64_t headroom(const EngineState& state) {
  if (state.running.empty()) return 0;
  const auto ids = static_cast<double>(state.blocks.usable() + 1);
  return static_cast<std::int64_t>(state.engine.watermark * ids);
}

/// Pool blocks of a hit that running requests already hold: sharing them costs no free blocks.
std::int64_t shared_rows(const KvBlocks& blocks, const PrefixHit& hit) {
  return blocks.rows_of(hit.blocks) - hit.blocks.free;
}

/// Tokens of the contiguous range that a request reserves.
std::int64_t reserved_by(const EngineState& state, const RequestState& request) {
  return reserved_tokens(state.engine, request.input_tokens, request.output_tokens);
}

/// Whether the pool has room for this start: for the whole sequence so far or only for its
/// first chunk, by Engine::reserve_full_sequence. In either case only the chunk's blocks are taken
/// now.
bool has_room(const EngineState& state, const RequestState& request, const Start& start) {
  const KvBlocks& blocks = state.blocks;
  if (blocks.contiguous()) {
    const std::int64_t tokens = reserved_by(state, request);
    return blocks.fits(tokens) && blocks.range_of(tokens) + headroom(state) <= blocks.free();
  }
  const std::int64_t total = state.engine.reserve_full_sequence
                                 ? blocks.max_needed(request.tokens())
                                 : blocks.needed(start.computed + start.tokens, start.tokens);
  return total - shared_rows(blocks, start.hit) + headroom(state) <= blocks.free();
}

/// Whether this request did not fit recently and still cannot.
bool still_blocked(const EngineState& state, const RequestState& request, RequestId id,
                   const BlockedHead& blocked) {
  if (!state.engine.reserve_full_sequence || blocked.id != id) return false;
  if (blocked.tokens != request.tokens() || blocked.gains != state.blocks.gains()) return false;
  const std::int64_t total = state.blocks.max_needed(request.tokens());
  return total - blocked.shared + headroom(state) > state.blocks.free();
}

/// Loads what is missing from the GPU's cache but present in host memory. The request then starts
/// later, but takes the blocks of the loaded part and of the first chunk after it now, so that they
/// are available (vLLM takes the chunk's blocks when it starts).
bool load_from_host(EngineState& state, RequestId id, Start start, AdmissionPass pass,
                    AdmissionMemory& memory) {
  RequestState& request = state[id];
  const std::int64_t found = memory.offload.find(state, id, start.hit.blocks.blocks);
  if (found == 0) return false;
  const std::int64_t block = state.blocks.shareable_tokens();
  // At least one token is computed, for its logits.
  start.computed = std::min(start.hit.tokens + found * block, request.tokens() - 1);
  start.tokens = std::min(wanted_tokens(state.engine, request.tokens() - start.computed),
                          state.engine.max_num_batched_tokens);
  if (!has_room(state, request, start)) return false;
  take_prefix(state, id, start.hit);
  state.blocks.grow(request.kv, start.computed + start.tokens, start.tokens);
  memory.offload.load(state, id, found, pass.now);
  request.computed = start.computed;
  return true;
}

/// How the request at the head of the queue can start, if at all.
Start start_of(EngineState& state, RequestId id, AdmissionPass pass, AdmissionMemory& memory) {
  const RequestState& request = state[id];
  Start start;
  if (request.loaded >= 0) {
    start.computed = request.computed;
  } else if (still_blocked(state, request, id, memory.blocked)) {
    return start;
  } else {
    if (request.received == 0) start.hit = find_prefix(state, id);
    if (start.hit.too_early) {
      memory.blocked = {};
      return start;
    }
    start.computed = std::max(start.hit.tokens, request.received);
    start.chunks = memory.offload.find_chunks(state, id);
    // At least one token is computed, for its logits.
    start.computed = std::max(start.computed, std::min(start.chunks, request.tokens() - 1));
    start.loads = load_from_host(state, id, start, pass, memory);
    if (start.loads) return start;
  }
  if (pass.defers_prompts && start.computed < request.tokens() - 1) return start;
  const std::int64_t wanted = wanted_tokens(state.engine, request.tokens() - start.computed);
  if (!state.engine.chunked_prefill && wanted > pass.budget) return start;
  start.tokens = aligned_chunk(state, request, start.computed, std::min(wanted, pass.budget));
  if (start.tokens == 0) return start;
  if (request.loaded >= 0 || has_room(state, request, start)) return start;
  start.tokens = 0;
  memory.blocked = {.id = id,
                    .tokens = request.tokens(),
                    .shared = shared_rows(state.blocks, start.hit),
                    .gains = state.blocks.gains()};
  return start;
}

/// Starts the request at the head of the queue in this step.
void admit(EngineState& state, StepPlan& plan, const Start& start, AdmissionMemory& memory) {
  const RequestId id = state.waiting.front();
  RequestState& request = state[id];
  if (request.loaded < 0) {
    take_prefix(state, id, start.hit);
  } else {
    memory.offload.take(id);
  }
  request.loaded = -1;
  request.offloaded = 0;
  const Seconds loading = memory.offload.load_chunks(state, id, start.hit.tokens, start.chunks);
  // LMCache loads for requests that are new to the worker. Of one that was preempted vLLM counts as
  // computed what was found, but nothing is loaded (0.19, vllm_v1_adapter.py,
  // build_connector_meta).
  if (state.requests.record(id).preemptions == 0) plan.added += loading;
  request.computed = start.computed;
  const std::int64_t tokens = start.computed + start.tokens;
  if (state.blocks.contiguous()) state.blocks.reserve(request.kv, reserved_by(state, request));
  const bool grown = state.blocks.grow(request.kv, tokens, start.tokens);
  assert(grown);
  static_cast<void>(grown);
  share_full_blocks(state, id, tokens);
  plan.added += memory.offload.store(state, id, tokens);
  state.waiting.pop_front();
  state.running.push_back(id);
  plan.admitted.push_back(id);
  plan.scheduled.push_back({id, start.tokens});
}

}  // namespace

std::int64_t wanted_tokens(const Engine& engine, std::int64_t uncomputed) {
  const std::int64_t threshold = engine.long_prefill_token_threshold;
  return threshold > 0 ? std::min(uncomputed, threshold) : uncomputed;
}

std::int64_t aligned_chunk(const EngineState& state, const RequestState& request,
                           std::int64_t computed, std::int64_t tokens) {
  if (!state.blocks.checkpoints()) return tokens;
  if (computed >= std::max(request.input_tokens, request.tokens() - 1)) return tokens;
  const std::int64_t block = state.blocks.shareable_tokens();
  std::int64_t last = request.tokens() / block * block;
  if (state.engine.speculation.reads_hidden_states()) {
    last = std::max<std::int64_t>(0, last - block);
  }
  if (computed + tokens < last) return tokens / block * block;
  return computed < last ? last - computed : tokens;
}

bool admit_waiting(EngineState& state, StepPlan& plan, AdmissionPass pass,
                   AdmissionMemory& memory) {
  const auto places = static_cast<std::size_t>(state.engine.max_num_seqs);
  RunningAdapters adapters(state, plan);
  std::vector<RequestId> aside;
  const auto set_aside = [&] {
    aside.push_back(state.waiting.front());
    state.waiting.pop_front();
  };
  bool blocked = false;
  while (pass.budget > 0 && !state.waiting.empty() && state.running.size() < places) {
    const RequestId id = state.waiting.front();
    const RequestState& request = state[id];
    // A request preempted while a step in progress samples its token waits for it.
    const bool may_start = adapters.admit(request.adapter) && request.loaded <= pass.now &&
                           !state.awaits_token(request);
    if (!may_start || (blocked && request.loaded < 0)) {
      set_aside();
      continue;
    }
    const Start start = start_of(state, id, pass, memory);
    if (start.tokens == 0) {
      blocked |= !start.loads;
      if (blocked && !memory.offload.awaited()) break;
      set_aside();
      continue;
    }
    admit(state, plan, start, memory);
    adapters.add(state[id].adapter);
    pass.budget -= start.tokens;
  }
  const bool left = blocked || !state.waiting.empty();
  for (auto id = aside.rbegin(); id != aside.rend(); ++id) {
    state.waiting.push_front(*id, state[*id].priority);
  }
  plan.added += adapters.time();
  return left;
}

}  // namespace roofcast
