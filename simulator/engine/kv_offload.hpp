// K and V in host memory, as vLLM's native offloading connector keeps them
// (vllm/distributed/kv_transfer/kv_connector/v1/offloading_connector.py and vllm/v1/kv_offload):
// every full block is copied to host memory when computed, and the part of a prompt that the GPU's
// prefix cache lacks is loaded while other requests run. Copies to host cost no time: they overlap
// the steps and use the other direction of the link. Generated tokens are kept too, but are found
// again only after a preemption, not by a session's next turn.
//
// Or as LMCache keeps them behind vLLM (0.19, kv_connector/v1/lmcache_integration/
// vllm_v1_adapter.py): prompts in chunks of 256 tokens, neither a chunk's part (save_unfull_chunk)
// nor what is generated (save_decode_cache). The step in which a request starts waits for its
// chunks (start_load_kv), from the one in which the GPU's hit ends, and a step waits until the
// chunks that it completes are copied (wait_for_save; LMCache, gpu_connector.py, synchronizes after
// each). Not modelled: layer by layer (use_layerwise), disks and remote stores behind host memory.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/host_cache.hpp"

namespace roofcast {

class KvOffload {
 public:
  /// Number of the request's blocks after the first `cached` that can be loaded from host memory.
  std::int64_t find(EngineState& state, RequestId id, std::int64_t cached);

  /// Loads `blocks` blocks from `now` on, after all earlier loads; sets RequestState::loaded to the
  /// time the load ends.
  void load(EngineState& state, RequestId id, std::int64_t blocks, Nanoseconds now);

  /// Call when a request whose load has ended starts.
  void take(RequestId id) { std::erase(awaited_, id); }
  /// Whether requests wait for a load, or have not started since theirs ended.
  bool awaited() const { return !awaited_.empty(); }
  /// The request that asked last among them releases its blocks and starts over when its turn
  /// comes. Returns false if there is none. (vLLM lets it keep its blocks and preempts a running
  /// request, which lets two requests preempt each other forever.)
  bool give_up_last(EngineState& state);

  /// LMCache: leading tokens of the prompt that are in host memory; 0 with the native connector.
  std::int64_t find_chunks(EngineState& state, RequestId id);

  /// LMCache: loads the `found` tokens for a request of which the GPU has `cached`; returns the
  /// time by which the step being decided becomes longer.
  Seconds load_chunks(EngineState& state, RequestId id, std::int64_t cached, std::int64_t found);

  /// Stores the request's first `tokens` tokens, computed in the step being decided; returns the
  /// time by which that becomes longer.
  Seconds store(EngineState& state, RequestId id, std::int64_t tokens);

  /// When the next load after `now` ends.
  std::optional<Nanoseconds> next_end(Nanoseconds now) const;

 private:
  HostCache& host(const EngineState& state);
  Seconds store_chunks(EngineState& state, RequestId id, std::int64_t tokens);

  std::optional<HostCache> host_;
  std::vector<RequestId> awaited_;  // in the order they asked
  std::deque<Nanoseconds> ends_;    // of pending loads, ascending
};

}  // namespace roofcast
