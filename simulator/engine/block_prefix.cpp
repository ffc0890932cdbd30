#include "simulator/engine/block_prefix.hpp"

#include <algorithm>
#include <numeric>

namespace roofcast {
namespace {

bool caches_prefixes(const EngineState& state) {
  return state.engine.prefix_caching && state.blocks.shareable_tokens() > 0;
}

std::span<const BlockKey> leading(const std::vector<BlockKey>& keys, std::int64_t count) {
  const auto available = static_cast<std::int64_t>(keys.size());
  return std::span(keys).first(static_cast<std::size_t>(std::min(count, available)));
}

/// Whether generated tokens continue the prompt's last span, and the spans cover the whole prompt.
bool continues_contents(const EngineState& state, RequestId id) {
  const Request& request = state.requests.record(id).request;
  const auto contents = state.requests.contents(id);
  if (!request.output_continues_prompt || contents.empty()) return false;
  const std::int64_t covered =
      std::accumulate(contents.begin(), contents.end(), std::int64_t{0},
                      [](std::int64_t sum, const ContentSpan& span) { return sum + span.tokens; });
  return covered == request.input_tokens;
}

/// The part of the sequence that other requests may repeat: its contents, and its generated tokens
/// if they continue them.
std::vector<ContentSpan> shared_contents(const EngineState& state, RequestId id) {
  const auto contents = state.requests.contents(id);
  std::vector<ContentSpan> spans(contents.begin(), contents.end());
  if (continues_contents(state, id)) spans.back().tokens += state[id].generated;
  return spans;
}

}  // namespace

PrefixHit find_prefix(EngineState& state, RequestId id) {
  if (!caches_prefixes(state)) return {};
  RequestState& request = state[id];
  const auto contents = state.requests.contents(id);
  const std::int64_t block = state.blocks.shareable_tokens();
  if (request.keys.empty() && state.engine.kv_offloading.on()) {
    // Host memory also keeps unshared blocks, for this request itself after a preemption.
    request.keys = own_block_keys(contents, request.tokens(), block, request.adapter, id);
  } else if (request.keys.empty() && !contents.empty()) {
    request.keys = state.requests.prompt_keys(id, block);
  }
  if (request.keys.empty()) return {};
  PrefixHit hit;
  hit.blocks = state.blocks.find(leading(request.keys, (request.tokens() - 1) / block));
  // EAGLE needs the target's hidden states before the first token it drafts from.
  if (traits_of(state.engine.scheduler).recomputes_last_block &&
      state.engine.speculation.reads_hidden_states() && hit.blocks.blocks > 0) {
    hit.blocks = state.blocks.find(leading(request.keys, hit.blocks.blocks - 1));
  }
  if (state.blocks.checkpoints() && hit.blocks.blocks > 0) {
    const auto found = leading(request.keys, hit.blocks.blocks);
    const std::int64_t with_state = state.blocks.last_checkpoint(found);
    hit.blocks = state.blocks.find(leading(request.keys, with_state));
    // The blocks of a request's own chunk can be hit in the same step, its states cannot (0.19,
    // cached_blocks_this_step in MambaManager).
    hit.too_early = with_state > 0 && state.blocks.written_now(found[with_state - 1]);
  }
  hit.tokens = hit.blocks.blocks * block;
  return hit;
}

void take_prefix(EngineState& state, RequestId id, const PrefixHit& hit) {
  if (!caches_prefixes(state)) return;
  RequestState& request = state[id];
  state.counters.prefix_queries += request.tokens();
  state.counters.prefix_hits += hit.tokens;
  if (hit.tokens == 0) return;
  state.blocks.take_cached(request.kv, leading(request.keys, hit.blocks.blocks));
  request.computed = hit.tokens;
  if (!state.blocks.checkpoints()) return;
  state.blocks.use_checkpoint(request.keys[static_cast<std::size_t>(hit.blocks.blocks - 1)]);
}

void share_full_blocks(EngineState& state, RequestId id, std::int64_t tokens) {
  RequestState& request = state[id];
  if (request.keys.empty()) return;
  const std::int64_t block = state.blocks.shareable_tokens();
  const std::int64_t full = tokens / block;
  state.blocks.name(request.kv, leading(request.keys, full));
  const bool at_end = full > 0 && full <= std::ssize(request.keys) && tokens % block == 0;
  if (!state.blocks.checkpoints() || !at_end) return;
  state.blocks.checkpoint(request.keys[static_cast<std::size_t>(full - 1)]);
}

void keep_own_blocks(EngineState& state, RequestId id) {
  if (!caches_prefixes(state)) return;
  RequestState& request = state[id];
  const std::int64_t block = state.blocks.shareable_tokens();
  const auto spans = shared_contents(state, id);
  request.keys = own_block_keys(spans, request.tokens(), block, request.adapter, id);
  state.blocks.name(request.kv, leading(request.keys, request.computed / block));
}

void keep_own_state(EngineState& state, RequestId id) {
  if (!caches_prefixes(state) || !state.blocks.checkpoints()) return;
  const RequestState& request = state[id];
  const std::int64_t full = request.computed / state.blocks.shareable_tokens();
  if (full > 0) state.blocks.checkpoint(request.keys[static_cast<std::size_t>(full - 1)]);
}

std::optional<BlockKey> share_generated_blocks(EngineState& state, RequestId id) {
  if (!caches_prefixes(state) || !continues_contents(state, id)) return std::nullopt;
  RequestState& request = state[id];
  const std::int64_t block = state.blocks.shareable_tokens();
  // The prompt's own are known since its prefix was looked up.
  const auto known = leading(request.keys, request.input_tokens / block);
  std::vector<BlockKey> keys(known.begin(), known.end());
  extend_block_keys(keys, shared_contents(state, id), block, request.adapter);
  const auto full = leading(keys, request.computed / block);
  state.blocks.name(request.kv, full);
  if (full.empty()) return std::nullopt;
  return full.back();
}

std::int64_t cached_prompt_tokens(const EngineState& state, RequestId id) {
  const auto contents = state.requests.contents(id);
  if (!caches_prefixes(state) || contents.empty()) return 0;
  const Request& request = state.requests.record(id).request;
  const std::int64_t block = state.blocks.shareable_tokens();
  const auto& keys = state.requests.prompt_keys(id, block);
  const std::int64_t found =
      state.blocks.find(leading(keys, (request.input_tokens - 1) / block)).blocks;
  if (!state.blocks.checkpoints()) return found * block;
  return state.blocks.last_checkpoint(leading(keys, found)) * block;
}

}  // namespace roofcast
