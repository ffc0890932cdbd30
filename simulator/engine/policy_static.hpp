// Static batching: scheduling by whole requests, as serving systems did before iteration-level
// scheduling (the baseline of Orca; Yu et al., OSDI 2022, section 3). When nothing runs, a batch is
// made of the requests that wait, in their order, up to max_num_seqs of them; their prompts are
// computed in one step, then each gains a token a step. Who arrives later waits until the longest
// output of the batch is done. Blocks are reserved for prompt and output of all, so a batch also
// ends where the KV cache, or max_num_batched_tokens, is full.
// In favour of static batching: prompts and ended sequences are not padded in the step time, a
// batch does not wait to be filled, and tokens reach the client when they are made, not when the
// batch ends. No prefix caching.
#pragma once

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

class StaticBatchPolicy final : public BatchingPolicy {
 public:
  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  bool schedules_in_aggregate() const override { return true; }
  void finish(EngineState& state, RequestId id) override;
  std::int64_t cached_tokens(const EngineState&, RequestId) const override { return 0; }
};

}  // namespace roofcast
