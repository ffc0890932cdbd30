// The reference engine: looks at every running request in every step and executes the policy's
// plan.
#pragma once

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/step_accounts.hpp"

namespace roofcast {

/// A decided step: what runs and how long.
struct DecidedStep {
  StepPlan plan{};
  StepBatch batch{};

  bool empty() const { return plan.scheduled.empty(); }
};

class PlainEngine final : public ReplicaEngine {
 public:
  /// `table` and `gaps` must outlive the engine; they record what happens to each request.
  PlainEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
              GapCounting counting = GapCounting::at_once);

  void enqueue(RequestId id) override { roofcast::enqueue(state_, *policy_, id); }
  std::optional<Nanoseconds> start_step(Nanoseconds now) override;
  void number_step(std::int64_t steps) override { state_.step_number = steps; }
  bool has_decided() const override { return !next_.empty(); }
  StepOffer offer_step(Nanoseconds now) override;
  void hold_prompts(bool hold) override { state_.holds_prompts = hold; }
  std::optional<Nanoseconds> begin_step(Nanoseconds now) override;
  void decide_step(Nanoseconds now) override { decide(now, next_); }
  void move_step_end(Nanoseconds end) override;
  std::span<const RequestId> finish_step() override;
  std::optional<Nanoseconds> next_wake() const override;
  std::vector<RequestId> evacuate() override;
  EngineLoad load() const override { return load_of(state_); }
  std::int64_t cached_tokens(RequestId id) const override;
  const EngineCounters& counters() const override { return state_.counters; }

  const EngineState& state() const { return state_; }
  const BatchingPolicy& policy() const { return *policy_; }
  /// The step in progress: its plan, and the input of its step time.
  const StepPlan& plan() const { return step_.plan; }
  const StepBatch& batch() const { return step_.batch; }

 private:
  void decide(Nanoseconds now, DecidedStep& step);

  const StepTime* step_time_;
  TokenGaps& gaps_;
  EngineState state_;
  std::unique_ptr<BatchingPolicy> policy_;
  DecidedStep step_;      // in progress
  DecidedStep next_;      // decided while step_ runs, with asynchronous scheduling
  bool offered_ = false;  // what may run in next_ has been chosen
  bool in_progress_ = false;
  Nanoseconds step_end_ = 0;
  std::vector<RequestId> finished_;
};

}  // namespace roofcast
