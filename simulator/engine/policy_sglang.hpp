// SGLang's scheduler (sglang/srt/managers/scheduler.py, schedule_batch.py and schedule_policy.py,
// 2025 to 2026). A step is a prefill or a decode: while a waiting request can be admitted, or a
// prompt that was cut is not finished, prompts are computed and decodes pause; with
// enable_mixed_chunk they go along. Admission trusts a guess of what running requests will still
// generate (NewTokenRatio); when the pool runs out under them, those that have generated least are
// retracted, and queue again behind all others. Prefixes are shared token by token (RadixPrefix).
// Not here: priorities, the exact reservation that SGLang makes for ignore_eos requests when its
// prefix cache is off, a pool of their own for layers with windows.
#pragma once

#include "simulator/engine/new_token_ratio.hpp"
#include "simulator/engine/radix_prefix.hpp"
#include "simulator/engine/sglang_prefill.hpp"

namespace roofcast {

class SglangPolicy final : public BatchingPolicy {
 public:
  explicit SglangPolicy(const Engine& engine) : ratio_(engine.schedule_conservativeness) {}

  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  bool schedules_in_aggregate() const override { return true; }
  void finish(EngineState& state, RequestId id) override;
  void abandon(EngineState& state, RequestId id) override;
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override;

  /// Before the step that is decided next.
  double new_token_ratio(const EngineState& state) const { return ratio_.at(state.counters.steps); }
  /// What the prefix cache holds; none before the first decision.
  const RadixPrefix* prefix() const { return prefix_ ? &*prefix_ : nullptr; }

 private:
  /// A prompt whose last token is computed by step `step`.
  struct Computed {
    RequestId request = 0;
    std::int64_t tokens = 0;
    std::int64_t step = 0;
  };

  void settle(EngineState& state);
  void prefill(EngineState& state, StepPlan& plan);
  void admit(EngineState& state, PrefillBudget& budget, StepPlan& plan);
  void decode(EngineState& state, StepPlan& plan);
  void retract(EngineState& state, std::vector<RequestId>& batch, StepPlan& plan);
  void retract_one(EngineState& state, RequestId id, StepPlan& plan);
  std::vector<RequestId> decode_batch(const EngineState& state) const;

  NewTokenRatio ratio_;
  // Made with the first decision, when the pool is known. Mutable: tokens that decodes have taken
  // from it are forgotten when somebody looks.
  mutable std::optional<RadixPrefix> prefix_;
  std::optional<RequestId> chunked_;  // the prompt that was cut and goes on next
  std::vector<Computed> computed_;    // not yet in the prefix cache
  bool full_ = false;                 // nobody is admitted before a running request has left
};

}  // namespace roofcast
