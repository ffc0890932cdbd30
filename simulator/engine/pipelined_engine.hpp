// The engine of a model in pipeline stages: as many steps are in progress as there are stages, each
// with a part of the running requests (a micro-batch). vLLM's EngineCore.step_with_batch_queue,
// SGLang's SchedulerPPMixin.event_loop_pp and TensorRT-LLM's PyExecutor._executor_loop_pp: they
// decide steps until all places are taken or nothing more can run, then wait for the oldest.
#pragma once

#include <deque>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/step_accounts.hpp"

namespace roofcast {

/// A step passes through the stages one after the other. It starts on a stage as soon as it has
/// left the one before and the stage has finished the step ahead; the host, or each stage's own,
/// prepares one step at a time. A request is not scheduled again until its token has come back, but
/// a prompt's next chunk may follow its last one. Arrivals are seen when the oldest step ends or,
/// if none is in progress, at once. With one stage, the same as PlainEngine without asynchronous
/// scheduling.
class PipelinedEngine final : public ReplicaEngine {
 public:
  /// `table` and `gaps` must outlive the engine; they record what happens to each request.
  PipelinedEngine(const Replica& replica, RequestTable& table, TokenGaps& gaps,
                  GapCounting counting = GapCounting::at_once);

  void enqueue(RequestId id) override { roofcast::enqueue(state_, *policy_, id); }
  /// Decides as many steps as can run; returns the end of the oldest.
  std::optional<Nanoseconds> start_step(Nanoseconds now) override;
  /// Delays all steps in progress: the stages wait for the oldest.
  void move_step_end(Nanoseconds end) override;
  /// Ends the oldest step in progress.
  std::span<const RequestId> finish_step() override;
  std::optional<Nanoseconds> next_wake() const override { return policy_->next_wake(state_); }
  std::vector<RequestId> evacuate() override;
  EngineLoad load() const override { return load_of(state_); }
  std::int64_t cached_tokens(RequestId id) const override {
    return policy_->cached_tokens(state_, id);
  }
  const EngineCounters& counters() const override { return state_.counters; }

  const EngineState& state() const { return state_; }

 private:
  struct MicroBatch {
    StepPlan plan{};
    std::int64_t slot = 0;
    Nanoseconds end = 0;
  };

  void fill_stages(Nanoseconds now);
  bool decide(Nanoseconds now, StepPlan& plan);
  std::int64_t held_requests() const;
  Nanoseconds pass_through(Nanoseconds now, Seconds added);

  const StepTime* step_time_;
  TokenGaps& gaps_;
  EngineState state_;
  std::unique_ptr<BatchingPolicy> policy_;
  std::deque<MicroBatch> in_progress_;     // oldest first
  std::vector<Nanoseconds> free_at_;       // the host, then each stage
  std::vector<Nanoseconds> host_free_at_;  // of each stage, where each has its own
  StepBatch batch_;
  StagedTime time_;
  std::vector<RequestId> finished_;
};

}  // namespace roofcast
