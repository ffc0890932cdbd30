#include "simulator/engine/kv_offload.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// The request's keys of the blocks in [first, end).
std::span<const BlockKey> keys_between(const RequestState& request, std::int64_t first,
                                       std::int64_t end) {
  const std::int64_t last = std::min(end, std::ssize(request.keys));
  if (first >= last) return {};
  return std::span(request.keys)
      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

/// Bytes of one shared block on one rank.
Bytes block_bytes(const KvBlocks& blocks) {
  return blocks.layout().row_bytes() *
         static_cast<double>(blocks.rows_of({.blocks = 1, .free = 0}));
}

bool offloads(const EngineState& state) {
  return state.engine.kv_offloading.on() && state.blocks.shareable_tokens() > 0;
}

}  // namespace

HostCache& KvOffload::host(const EngineState& state) {
  if (!host_) {
    const double blocks = state.engine.kv_offloading.size / block_bytes(state.blocks);
    host_.emplace(static_cast<std::int64_t>(blocks));
  }
  return *host_;
}

std::int64_t KvOffload::find(EngineState& state, RequestId id, std::int64_t cached) {
  if (!offloads(state)) return 0;
  const RequestState& request = state[id];
  const std::int64_t full = request.tokens() / state.blocks.shareable_tokens();
  return host(state).find(keys_between(request, cached, full));
}

void KvOffload::load(EngineState& state, RequestId id, std::int64_t blocks, Nanoseconds now) {
  RequestState& request = state[id];
  const std::int64_t block = state.blocks.shareable_tokens();
  const std::int64_t first = request.computed / block;
  host(state).touch(keys_between(request, 0, first + blocks));
  const KvOffloading& offloading = state.engine.kv_offloading;
  const Bytes bytes = block_bytes(state.blocks) * static_cast<double>(blocks);
  while (!ends_.empty() && ends_.front() <= now) ends_.pop_front();
  const Nanoseconds link_free = ends_.empty() ? now : ends_.back();
  request.loaded = link_free + to_nanoseconds(offloading.latency + bytes / offloading.bandwidth);
  ends_.push_back(request.loaded);
  awaited_.push_back(id);
  state.counters.offload_hits += blocks * block;
}

bool KvOffload::give_up_last(EngineState& state) {
  if (awaited_.empty()) return false;
  RequestState& request = state[awaited_.back()];
  awaited_.pop_back();
  state.blocks.release(request.kv);
  request.computed = 0;
  request.loaded = -1;
  return true;
}

void KvOffload::store(EngineState& state, RequestId id, std::int64_t tokens) {
  if (!offloads(state)) return;
  RequestState& request = state[id];
  const std::int64_t full = tokens / state.blocks.shareable_tokens();
  const auto named = keys_between(request, request.offloaded, full);
  for (const BlockKey key : named) host(state).store(key);
  host(state).store_nameless(full - request.offloaded - std::ssize(named));
  request.offloaded = std::max(request.offloaded, full);
}

std::optional<Nanoseconds> KvOffload::next_end(Nanoseconds now) const {
  const auto next = std::upper_bound(ends_.begin(), ends_.end(), now);
  if (next == ends_.end()) return std::nullopt;
  return *next;
}

}  // namespace roofcast
