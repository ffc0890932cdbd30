// SGLang's scheduler: policy_sglang.cpp says what it does. Declared for its tests, which look
// inside.
#pragma once

#include "simulator/engine/new_token_ratio.hpp"
#include "simulator/engine/radix_prefix.hpp"
#include "simulator/engine/sglang_prefill.hpp"

namespace roofcast {

class SglangPolicy final : public BatchingPolicy {
 public:
  explicit SglangPolicy(const Engine& engine)
      : aggregate_(!engine.speculation.on()), ratio_(engine.schedule_conservativeness) {}

  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  bool schedules_in_aggregate() const override { return aggregate_; }
  void finish(EngineState& state, RequestId id) override;
  void abandon(EngineState& state, RequestId id) override;
  Demand demand_of(const Engine& engine, const Request& request,
                   const CacheLayout& layout) const override;
  std::string step_limit(const Engine& engine, const CacheLayout& layout) const override;
  bool reserves_output(const Engine&) const override { return true; }
  std::int64_t longest_sequence(const EngineState& state, std::int64_t input_tokens) const override;
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override;

  /// The ratio before the step that is decided next.
  double new_token_ratio(const EngineState& state) const { return ratio_.at(state.counters.steps); }
  /// The prefix cache; nullptr before the first decision.
  const RadixPrefix* prefix() const { return prefix_ ? &*prefix_ : nullptr; }

 private:
  /// A prompt whose last token is computed by step `step`.
  struct Computed {
    RequestId request = 0;
    std::int64_t tokens = 0;
    std::int64_t step = 0;
  };

  void receive(EngineState& state);
  void settle(EngineState& state);
  void prefill(EngineState& state, StepPlan& plan);
  void admit(EngineState& state, PrefillBudget& budget, StepPlan& plan);
  void decode(EngineState& state, StepPlan& plan);
  void retract(EngineState& state, std::vector<RequestId>& batch, StepPlan& plan);
  void retract_one(EngineState& state, RequestId id, StepPlan& plan);
  std::vector<RequestId> decode_batch(const EngineState& state) const;

  bool aggregate_ = true;  // the fast engine's batches have no drafts
  NewTokenRatio ratio_;
  // Created at the first decision, when the pool is known. Mutable because reads first evict the
  // tokens whose pages decodes have taken.
  mutable std::optional<RadixPrefix> prefix_;
  std::optional<RequestId> chunked_;  // the prompt that was chunked and continues next
  std::vector<Computed> computed_;    // not yet in the prefix cache
  bool full_ = false;                 // no request is admitted until a running one leaves
  std::int64_t look_ = 0;  // step before which it last looked, or next looks, for requests
};

}  // namespace roofcast
