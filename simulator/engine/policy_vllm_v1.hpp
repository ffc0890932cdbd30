// vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py and kv_cache_manager.py, 2025 to 2026).
// Each step has a budget of tokens. Running requests come first, in order of admission: a decode
// takes one token, an unfinished prompt a chunk. When blocks run out, the newest running request
// (or the one of worst priority) is preempted. The remaining budget admits waiting requests,
// strictly in order, unless the step preempted; a prompt's cached blocks are not recomputed. With
// drafts a decode computes 1 + k tokens. Not modelled: encoders.
#pragma once

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/vllm_admission.hpp"

namespace roofcast {

class VllmV1Policy final : public BatchingPolicy {
 public:
  explicit VllmV1Policy(const Engine& engine);

  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  /// False with drafts, since each request gains a different number of tokens per step, and with KV
  /// offload, which is tracked per block.
  bool schedules_in_aggregate() const override { return aggregate_; }
  void finish(EngineState& state, RequestId id) override;
  std::optional<Nanoseconds> next_wake(const EngineState& state) const override;
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override;

 private:
  bool aggregate_ = true;
  AdmissionMemory admission_;
  Nanoseconds decided_ = 0;  // time of the last schedule() call
};

}  // namespace roofcast
