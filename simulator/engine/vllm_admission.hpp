// How vLLM V1 admits waiting requests: the second half of a scheduling step.
#pragma once

#include <cstdint>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/kv_offload.hpp"

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

/// What admission keeps from step to step.
struct AdmissionMemory {
  BlockedHead blocked{};
  KvOffload offload{};
};

/// What is left of a step for waiting requests.
struct AdmissionPass {
  std::int64_t budget = 0;
  Nanoseconds now = 0;
};

/// Waiting requests while budget and places are left, strictly in order: the first that finds no
/// room blocks all behind it. Those whose adapter would be one too many, and those whose K and V
/// are on their way from host memory, are set aside and keep their places in the queue. Those whose
/// K and V have come pass a head that finds no room, as their blocks are theirs already (vLLM looks
/// at skipped_waiting first). Adds the adapters' time to the plan.
void admit_waiting(EngineState& state, StepPlan& plan, AdmissionPass pass, AdmissionMemory& memory);

}  // namespace roofcast
