// The order in which SGLang looks at waiting requests (calc_priority in
// sglang/srt/managers/schedule_policy.py).
#pragma once

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_prefix.hpp"

namespace roofcast {

/// Puts the queue into the order of Engine::order, ties as they stood:
/// - fcfs: as it is;
/// - longest_prefix: most cached tokens first. Of requests with little cached that begin alike, all
///   but the first are put last, to find its prefix later. As fcfs when the queue is long, or
///   nothing is cached;
/// - longest_output: most allowed output first.
void order_waiting(EngineState& state, RadixPrefix& prefix);

}  // namespace roofcast
