// How vLLM V1 admits waiting requests: the second half of a scheduling step.
#pragma once

#include <cstdint>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// Of a request's tokens still to compute, those that one step may take, before its budget.
std::int64_t wanted_tokens(const Engine& engine, std::int64_t uncomputed);

/// The head of the queue when it last found no room for its whole sequence, so that it is not
/// looked up in the prefix cache at every step while it waits: until the pool gains cached blocks,
/// no more of its blocks can be shared with running requests than were then.
struct BlockedHead {
  RequestId id = kNoRequest;
  std::int64_t tokens = 0;  // of its sequence
  std::int64_t shared = 0;  // pool blocks that it could share with running requests
  std::int64_t gains = 0;   // KvBlocks::gains() then
};

/// Waiting requests while budget and places are left, strictly in order: the first that cannot
/// start blocks all behind it.
void admit_waiting(EngineState& state, StepPlan& plan, std::int64_t budget, BlockedHead& blocked);

}  // namespace roofcast
