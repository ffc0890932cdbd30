#include "simulator/engine/radix_prefix.hpp"

#include <algorithm>
#include <cassert>

namespace roofcast {
namespace {

std::vector<TokenRun> runs_of(const EngineState& state, RequestId id, std::int64_t tokens) {
  return token_runs(state.requests.record(id).request, id, state.requests.contents(id), tokens);
}

/// Tokens that the hierarchical cache holds in host memory.
std::int64_t host_tokens(const EngineState& state) {
  const HierarchicalCache& host = state.engine.hierarchical_cache;
  const std::int64_t rows = state.blocks.rows_of({.blocks = 1});
  if (!host.on() || rows == 0) return 0;
  const auto page = static_cast<double>(state.blocks.layout().block_tokens);
  const double pages =
      host.size.value > 0
          ? host.size / (state.blocks.layout().row_bytes() * static_cast<double>(rows))
          : static_cast<double>(state.blocks.usable() / rows) * host.ratio;
  return static_cast<std::int64_t>(pages * page);
}

/// Takes blocks that are known to be free.
void must_take(KvBlocks& blocks, std::int64_t rows) {
  const bool taken = blocks.take_rows(rows);
  assert(taken);
  static_cast<void>(taken);
}

}  // namespace

RadixPrefix::RadixPrefix(const EngineState& state)
    : tree_(state.blocks.layout().block_tokens),
      page_(state.blocks.layout().block_tokens),
      rows_per_page_(state.blocks.rows_of({.blocks = 1})),
      enabled_(state.engine.prefix_caching && rows_per_page_ > 0) {
  host_tokens_ = enabled_ ? host_tokens(state) : 0;
  if (host_tokens_ > 0) host_.emplace(page_);
}

std::int64_t RadixPrefix::find_in_host(const EngineState& state, RequestId id,
                                       const RadixCache::Match& match) {
  constexpr std::int64_t kLoadBackThreshold = 10;
  const RequestState& request = state[id];
  if (!host_ || request.received > 0) return 0;
  const std::int64_t max = request.tokens() - 1;
  const std::int64_t found = host_->match(runs_of(state, id, max), request.adapter, max).tokens;
  return found - match.tokens < kLoadBackThreshold ? 0 : found - match.tokens;
}

void RadixPrefix::copy_to_host(std::span<const TokenRun> runs, std::int32_t adapter) {
  if (!host_) return;
  host_->insert(runs, adapter);
  host_->evict_down_to(host_tokens_);
}

RadixCache::Match RadixPrefix::find(const EngineState& state, RequestId id) {
  const RequestState& request = state[id];
  if (!enabled_ || request.received > 0) return {};
  const std::int64_t max = request.tokens() - 1;
  return tree_.match(runs_of(state, id, max), request.adapter, max);
}

void RadixPrefix::take(EngineState& state, RequestId id, const RadixCache::Match& match) {
  if (!enabled_) return;
  RequestState& request = state[id];
  assert(request.kv.blocks == 0 && !held_.contains(id));
  state.counters.prefix_queries += request.tokens();
  state.counters.prefix_hits += match.tokens;
  must_take(state.blocks, rows(tree_.lock(match.node)));
  held_[id] = {.node = match.node, .tokens = match.tokens};
  request.kv.blocks = rows(match.tokens);
  request.computed = match.tokens;
}

void RadixPrefix::keep(EngineState& state, RequestId id, std::int64_t tokens) {
  if (!enabled_) return;
  Held& held = held_.at(id);
  const std::vector<TokenRun> runs = runs_of(state, id, tokens);
  const RadixCache::Insertion kept = tree_.insert(runs, state[id].adapter);
  copy_to_host(runs, state[id].adapter);
  assert(kept.tokens >= held.tokens);
  state.blocks.take_rows(-rows(kept.tokens - held.tokens));
  must_take(state.blocks, rows(tree_.lock(kept.node)));
  state.blocks.take_rows(-rows(tree_.unlock(held.node)));
  held = {.node = kept.node, .tokens = kept.tokens};
}

void RadixPrefix::finish(EngineState& state, RequestId id) {
  if (enabled_) {
    const RequestState& request = state[id];
    const std::int64_t computed = request.input_tokens + request.output_tokens - 1;
    const std::vector<TokenRun> runs = runs_of(state, id, computed);
    tree_.insert(runs, request.adapter);
    copy_to_host(runs, request.adapter);
  }
  drop(state, id);
}

void RadixPrefix::drop(EngineState& state, RequestId id) {
  RequestState& request = state[id];
  if (const auto found = held_.find(id); found != held_.end()) {
    request.kv.blocks -= rows(found->second.tokens);
    state.blocks.take_rows(-rows(tree_.unlock(found->second.node)));
    held_.erase(found);
  }
  state.blocks.release(request.kv);
}

void RadixPrefix::forget_taken(const EngineState& state, std::int64_t spare) {
  if (!enabled_) return;
  const std::int64_t free = state.blocks.free() / rows_per_page_ * page_;
  tree_.evict_down_to(std::max<std::int64_t>(0, free - spare));
}

std::int64_t RadixPrefix::cached_tokens(const EngineState& state, RequestId id) const {
  const Request& request = state.requests.record(id).request;
  if (!enabled_) return 0;
  const std::int64_t max = request.input_tokens - 1;
  return tree_.matched_tokens(runs_of(state, id, max), request.adapter, max);
}

}  // namespace roofcast
