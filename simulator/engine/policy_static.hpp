// Static batching: scheduling whole requests, as serving systems did before iteration-level
// scheduling (the baseline of Orca; Yu et al., OSDI 2022, section 3). When nothing runs, up to
// max_num_seqs waiting requests form a batch, in order; their prompts are computed in one step,
// then each gains a token per step. Later arrivals wait until the longest output of the batch is
// done. Blocks are reserved for all prompts and outputs, so the KV cache and max_num_batched_tokens
// also limit a batch. Optimistic for static batching: prompts and finished sequences are not padded
// in the step time, a batch does not wait to fill up, and tokens reach the client when generated,
// not when the batch ends. No prefix caching.
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
