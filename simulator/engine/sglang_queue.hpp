// The order in which SGLang looks at waiting requests (calc_priority in
// sglang/srt/managers/schedule_policy.py).
#pragma once

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_prefix.hpp"

namespace roofcast {

/// Sorts the queue by Engine::order, stably:
/// - fcfs: unchanged;
/// - longest_prefix: most cached tokens first. Of requests with few cached tokens that share a
///   prefix, all but the first go last, to find it cached later. As fcfs if the queue is long or
///   nothing is cached;
/// - longest_output: most allowed output first.
void order_waiting(EngineState& state, RadixPrefix& prefix);

}  // namespace roofcast
