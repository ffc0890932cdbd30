// How vLLM V1 admits waiting requests: the second half of a scheduling step.
#pragma once

#include <cstdint>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/kv_offload.hpp"

namespace roofcast {

/// Number of uncomputed tokens that one step may take, before its budget applies.
std::int64_t wanted_tokens(const Engine& engine, std::int64_t uncomputed);

/// The part of a chunk of `tokens` after `computed` ones that is computed in this step where hits
/// need a state: prompts are cut at the ends of blocks, so that a state is kept there, the last
/// time at the end of their last full block (0.19, _mamba_block_aligned_split in scheduler.py). 0:
/// the chunk is shorter than a block.
std::int64_t aligned_chunk(const EngineState& state, const RequestState& request,
                           std::int64_t computed, std::int64_t tokens);

/// The request at the head of the queue when its whole sequence last did not fit. It is not looked
/// up in the prefix cache at every step while it waits: until the pool gains cached blocks, it can
/// share no more blocks with running requests than it could then.
struct BlockedHead {
  RequestId id = kNoRequest;
  std::int64_t tokens = 0;  // of its sequence
  std::int64_t shared = 0;  // pool blocks it could share with running requests
  std::int64_t gains = 0;   // KvBlocks::gains() then
};

/// State that admission keeps between steps.
struct AdmissionMemory {
  BlockedHead blocked{};
  KvOffload offload{};
};

/// The rest of a step, for waiting requests.
struct AdmissionPass {
  std::int64_t budget = 0;
  Nanoseconds now = 0;
  bool defers_prompts = false;  // admits only what has a single token left to compute
};

/// Admits waiting requests while budget and places are left, strictly in order: the first that does
/// not fit blocks all behind it. Requests whose adapter would exceed the limit, and those whose K
/// and V are still being loaded from host memory, are skipped and keep their places in the queue.
/// Requests whose load has ended pass a head that does not fit, since they already hold their
/// blocks (vLLM visits skipped_waiting first). Adds the adapters' time to the plan. Returns whether
/// requests are left that could have started with more room or budget.
bool admit_waiting(EngineState& state, StepPlan& plan, AdmissionPass pass, AdmissionMemory& memory);

}  // namespace roofcast
