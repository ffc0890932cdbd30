// K and V in host memory, as vLLM's native offloading connector keeps them
// (vllm/distributed/kv_transfer/kv_connector/v1/offloading_connector.py and vllm/v1/kv_offload):
// every full block is copied out when it is computed, and what the GPU's prefix cache lacks of a
// prompt is loaded while other requests run.
// Copies out cost no time: they run beside the steps, in the link's other direction. What a request
// generates is kept, but found again only after a preemption: a session's next turn does not find
// it here.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/host_cache.hpp"

namespace roofcast {

class KvOffload {
 public:
  /// Of the request's blocks, those after the first `cached` that can be loaded.
  std::int64_t find(EngineState& state, RequestId id, std::int64_t cached);

  /// `blocks` blocks are on their way from `now` on, after those that were asked for earlier:
  /// RequestState::loaded says until when.
  void load(EngineState& state, RequestId id, std::int64_t blocks, Nanoseconds now);

  /// A request whose load has ended starts.
  void take(RequestId id) { std::erase(awaited_, id); }
  /// Whether requests wait for a load, or have not started since it ended.
  bool awaited() const { return !awaited_.empty(); }
  /// The one of them that asked last gives its blocks back, and begins anew in its turn. False when
  /// there is none. (vLLM leaves them their blocks and preempts a running request, with which two
  /// requests can take turns for ever.)
  bool give_up_last(EngineState& state);

  /// The request's first `tokens` tokens are computed with the step that is being decided.
  void store(EngineState& state, RequestId id, std::int64_t tokens);

  /// When the next load after `now` ends.
  std::optional<Nanoseconds> next_end(Nanoseconds now) const;

 private:
  HostCache& host(const EngineState& state);

  std::optional<HostCache> host_;
  std::vector<RequestId> awaited_;  // in the order they asked
  std::deque<Nanoseconds> ends_;    // of loads on their way, ascending
};

}  // namespace roofcast
