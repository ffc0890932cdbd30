// Implements the step-time interface by execution: each step that a simulated engine plans is run
// on a device, and its measured time is returned. The simulator's scheduler thus serves a real
// model.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "calibrate/runtime/executor.hpp"
#include "calibrate/runtime/page_book.hpp"
#include "model/step/step_time.hpp"
#include "simulator/engine/plain_engine.hpp"

namespace roofcast::runtime {

/// A step that was run, for comparison with an estimate.
struct TimedStep {
  StepBatch batch{};
  Seconds time{};
};

class DeviceStep final : public StepTime {
 public:
  /// `executor` must outlive this. Prompts are random tokens of stream `seed`. `spans` are those of
  /// the model that runs (attention_spans).
  DeviceStep(Executor& executor, std::vector<AttentionSpan> spans, std::uint64_t seed);

  /// Sets the engine whose steps are run, and the requests in it. Precondition: a PlainEngine
  /// without asynchronous scheduling and without prefix caching, so that the steps run are those it
  /// planned, and the tokens it counts as cached are in the cache.
  void attach(const ReplicaEngine& engine, const RequestTable& requests);

  const std::vector<AttentionSpan>& spans() const override { return spans_; }

  /// Runs the step that the engine has planned. The time includes host work (layout, copies), but
  /// not choosing kernels for a new shape.
  Seconds seconds(const StepBatch& batch) const override;

  const std::vector<TimedStep>& steps() const { return steps_; }
  /// Prompt and generated tokens of every request that was run.
  const std::map<RequestId, std::vector<std::int32_t>>& sequences() const { return sequences_; }

 private:
  void give_back_pages() const;
  SequenceRows rows_of(const ScheduledTokens& scheduled) const;
  std::vector<std::int32_t>& sequence_of(RequestId id) const;

  Executor& executor_;
  std::vector<AttentionSpan> spans_;
  std::uint64_t seed_;
  const PlainEngine* engine_ = nullptr;
  const RequestTable* requests_ = nullptr;
  // The interface is a const query about a batch; answering it changes this state.
  mutable PageBook pages_;
  mutable std::map<RequestId, std::vector<std::int32_t>> sequences_;
  mutable std::vector<RequestId> holding_;  // requests that may hold pages
  mutable std::vector<TimedStep> steps_;
};

}  // namespace roofcast::runtime
