// The simplest possible loop: one request at a time and no KV cache. Every token recomputes the
// whole sequence so far, prompt and generated tokens: the naive baseline of `roofcast staircase`.
#pragma once

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

class NaivePolicy final : public BatchingPolicy {
 public:
  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  void finish(EngineState&, RequestId) override {}
  std::int64_t cached_tokens(const EngineState&, RequestId) const override { return 0; }
};

}  // namespace roofcast
