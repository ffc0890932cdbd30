#include "simulator/engine/block_prefix.hpp"

#include <algorithm>

namespace roofcast {
namespace {

bool caches_prefixes(const EngineState& state) {
  return state.engine.prefix_caching && state.blocks.shareable_tokens() > 0;
}

std::span<const BlockKey> leading(const std::vector<BlockKey>& keys, std::int64_t count) {
  const auto available = static_cast<std::int64_t>(keys.size());
  return std::span(keys).first(static_cast<std::size_t>(std::min(count, available)));
}

/// The prompt's contents, its last span continued by `more` generated tokens.
std::vector<ContentSpan> continued(std::span<const ContentSpan> contents, std::int64_t more) {
  std::vector<ContentSpan> spans(contents.begin(), contents.end());
  if (!spans.empty()) spans.back().tokens += more;
  return spans;
}

}  // namespace

PrefixHit find_prefix(EngineState& state, RequestId id) {
  if (!caches_prefixes(state)) return {};
  RequestState& request = state[id];
  const auto contents = state.requests.contents(id);
  const std::int64_t block = state.blocks.shareable_tokens();
  if (request.keys.empty() && !contents.empty()) {
    request.keys = block_keys(contents, block, request.adapter);
  }
  if (request.keys.empty()) return {};
  PrefixHit hit;
  hit.blocks = state.blocks.find(leading(request.keys, (request.tokens() - 1) / block));
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
}

void share_full_blocks(EngineState& state, RequestId id, std::int64_t tokens) {
  RequestState& request = state[id];
  if (request.keys.empty()) return;
  const std::int64_t full = tokens / state.blocks.shareable_tokens();
  state.blocks.name(request.kv, leading(request.keys, full));
}

void keep_own_blocks(EngineState& state, RequestId id) {
  if (!caches_prefixes(state)) return;
  RequestState& request = state[id];
  const std::int64_t block = state.blocks.shareable_tokens();
  const auto contents = state.requests.contents(id);
  const Request& asked = state.requests.record(id).request;
  const auto spans = continued(contents, asked.output_continues_prompt ? request.generated : 0);
  request.keys = own_block_keys(spans, request.tokens(), block, request.adapter, id);
  state.blocks.name(request.kv, leading(request.keys, request.computed / block));
}

void share_generated_blocks(EngineState& state, RequestId id) {
  if (!caches_prefixes(state)) return;
  RequestState& request = state[id];
  const auto contents = state.requests.contents(id);
  if (!state.requests.record(id).request.output_continues_prompt || contents.empty()) return;
  const std::int64_t block = state.blocks.shareable_tokens();
  const auto spans = continued(contents, request.generated);
  const auto keys = block_keys(spans, block, request.adapter);
  state.blocks.name(request.kv, leading(keys, request.computed / block));
}

std::int64_t cached_prompt_tokens(const EngineState& state, RequestId id) {
  const auto contents = state.requests.contents(id);
  if (!caches_prefixes(state) || contents.empty()) return 0;
  const Request& request = state.requests.record(id).request;
  const std::int64_t block = state.blocks.shareable_tokens();
  const auto keys = block_keys(contents, block, request.adapter);
  return state.blocks.find(leading(keys, (request.input_tokens - 1) / block)).blocks * block;
}

}  // namespace roofcast
