// SGLang's pool for layers with windows: of how many of its tokens a request keeps others from
// taking. Those outside a request's window that the radix tree holds are evicted when needed and
// count as free, and a hit is taken to find its window in the pool.
#pragma once

#include <cstdint>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_prefix.hpp"

namespace roofcast {

/// The pool, in tokens; `window` is 0 where all layers share one pool.
struct WindowPool {
  std::int64_t tokens = 0;
  std::int64_t window = 0;
  std::int64_t page = 1;

  bool apart() const { return window > 0; }
};

WindowPool window_pool(const EngineState& state);

/// Tokens that a running request holds: a window of what the tree has of it, which stays locked;
/// what it computed of its prompt beside that; and the tokens it has generated, which are released
/// from a window behind the last on, 128 at a time (0.5.15, schedule_batch.py, maybe_evict_swa, and
/// environ.py, SGLANG_SWA_EVICTION_INTERVAL).
std::int64_t held_in_windows(const EngineState& state, const RadixPrefix& prefix,
                             const WindowPool& pool, RequestId id);

/// Tokens that no running request holds.
std::int64_t window_tokens_left(const EngineState& state, const RadixPrefix& prefix,
                                const WindowPool& pool);

/// Whether the pool has room for these requests' decodes whatever they have generated.
/// `unsettled` are tokens of prompts that are not in the tree yet.
bool holds_any_decodes(const WindowPool& pool, std::int64_t requests, std::int64_t unsettled);

/// Tokens of the pool that a request needs to start or to go on: those of its next `chunk` tokens
/// beyond a window, and of a window at most of its `input` uncomputed and `output` further tokens
/// (schedule_policy.py, _swa_budget_for_req).
std::int64_t window_budget(const WindowPool& pool, std::int64_t chunk, std::int64_t input,
                           std::int64_t output);

}  // namespace roofcast
