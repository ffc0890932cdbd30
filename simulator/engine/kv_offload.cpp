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

bool in_chunks(const EngineState& state) {
  return state.engine.kv_offloading.backend == OffloadingBackend::lmcache;
}

/// Blocks of what is kept as one: a block, or LMCache's chunk (config.py, chunk_size).
std::int64_t blocks_kept_as_one(const EngineState& state) {
  constexpr std::int64_t kChunk = 256;  // tokens
  const std::int64_t block = state.blocks.shareable_tokens();
  return in_chunks(state) ? (kChunk + block - 1) / block : 1;
}

std::int64_t chunk_tokens(const EngineState& state) {
  return blocks_kept_as_one(state) * state.blocks.shareable_tokens();
}

/// Whole chunks of the prompt that have keys.
std::int64_t chunk_count(const EngineState& state, const RequestState& request) {
  return std::min(request.input_tokens / chunk_tokens(state),
                  std::ssize(request.keys) / blocks_kept_as_one(state));
}

/// A chunk is known by its last block's key, which stands for all before it.
BlockKey chunk_key(const EngineState& state, const RequestState& request, std::int64_t chunk) {
  return request.keys[static_cast<std::size_t>((chunk + 1) * blocks_kept_as_one(state) - 1)];
}

/// Keys of the prompt's first `chunks` chunks.
std::vector<BlockKey> chunk_keys(const EngineState& state, const RequestState& request,
                                 std::int64_t chunks) {
  std::vector<BlockKey> keys;
  keys.reserve(static_cast<std::size_t>(chunks));
  for (std::int64_t i = 0; i < chunks; ++i) keys.push_back(chunk_key(state, request, i));
  return keys;
}

Seconds transfer_time(const EngineState& state, std::int64_t blocks) {
  return block_bytes(state.blocks) * static_cast<double>(blocks) /
         state.engine.kv_offloading.bandwidth;
}

}  // namespace

HostCache& KvOffload::host(const EngineState& state) {
  if (!host_) {
    const double blocks = state.engine.kv_offloading.size / block_bytes(state.blocks);
    host_.emplace(
        static_cast<std::int64_t>(blocks / static_cast<double>(blocks_kept_as_one(state))));
  }
  return *host_;
}

std::int64_t KvOffload::find(EngineState& state, RequestId id, std::int64_t cached) {
  if (!offloads(state) || in_chunks(state)) return 0;
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

std::int64_t KvOffload::find_chunks(EngineState& state, RequestId id) {
  if (!offloads(state) || !in_chunks(state)) return 0;
  const RequestState& request = state[id];
  const HostCache& kept = host(state);
  const std::int64_t count = chunk_count(state, request);
  std::int64_t found = 0;
  while (found < count) {
    const BlockKey key = chunk_key(state, request, found);
    if (kept.find(std::span(&key, 1)) == 0) break;
    ++found;
  }
  return found * chunk_tokens(state);
}

Seconds KvOffload::load_chunks(EngineState& state, RequestId id, std::int64_t cached,
                               std::int64_t found) {
  if (!offloads(state) || !in_chunks(state)) return {};
  RequestState& request = state[id];
  const std::int64_t chunks = found / chunk_tokens(state);
  request.offloaded = chunks;
  if (found <= cached) return {};
  host(state).touch(chunk_keys(state, request, chunks));
  if (state.requests.record(id).preemptions == 0) state.counters.offload_hits += found - cached;
  const std::int64_t loaded = chunks - cached / chunk_tokens(state);
  return state.engine.kv_offloading.latency +
         transfer_time(state, loaded * blocks_kept_as_one(state));
}

Seconds KvOffload::store_chunks(EngineState& state, RequestId id, std::int64_t tokens) {
  RequestState& request = state[id];
  const std::int64_t end = std::min(tokens / chunk_tokens(state), chunk_count(state, request));
  std::int64_t copied = 0;
  for (std::int64_t i = request.offloaded; i < end; ++i) {
    const BlockKey key = chunk_key(state, request, i);
    if (host(state).find(std::span(&key, 1)) == 0) ++copied;
    host(state).store(key);
  }
  request.offloaded = std::max(request.offloaded, end);
  return transfer_time(state, copied * blocks_kept_as_one(state));
}

Seconds KvOffload::store(EngineState& state, RequestId id, std::int64_t tokens) {
  if (!offloads(state)) return {};
  if (in_chunks(state)) return store_chunks(state, id, tokens);
  RequestState& request = state[id];
  const std::int64_t full = tokens / state.blocks.shareable_tokens();
  const auto named = keys_between(request, request.offloaded, full);
  for (const BlockKey key : named) host(state).store(key);
  host(state).store_nameless(full - request.offloaded - std::ssize(named));
  request.offloaded = std::max(request.offloaded, full);
  return {};
}

std::optional<Nanoseconds> KvOffload::next_end(Nanoseconds now) const {
  const auto next = std::upper_bound(ends_.begin(), ends_.end(), now);
  if (next == ends_.end()) return std::nullopt;
  return *next;
}

}  // namespace roofcast
