// The step-time seam answered by doing it: each step that a simulated engine plans is run on a
// device, and takes as long as it took. So the simulator's scheduler serves a real model.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "calibrate/runtime/executor.hpp"
#include "calibrate/runtime/page_book.hpp"
#include "model/step/step_time.hpp"
#include "simulator/engine/plain_engine.hpp"

namespace roofcast::runtime {

/// A step as it was run: for comparing it with an estimate.
struct TimedStep {
  StepBatch batch{};
  Seconds time{};
};

class DeviceStep final : public StepTime {
 public:
  /// `executor` outlives it. Prompts are random tokens of stream `seed`. `spans` are those of the
  /// model that runs (attention_spans).
  DeviceStep(Executor& executor, std::vector<AttentionSpan> spans, std::uint64_t seed);

  /// The engine whose steps it runs, and the requests in it. Precondition: a PlainEngine without
  /// asynchronous scheduling and without prefix caching, so that what it has planned is what runs,
  /// and what it counts as cached is in the cache.
  void attach(const ReplicaEngine& engine, const RequestTable& requests);

  const std::vector<AttentionSpan>& spans() const override { return spans_; }

  /// Runs the step that the engine has planned. Host work (laying out, copying) counts, choosing
  /// kernels for a new shape does not.
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
  // The seam is a question about a batch, and const; the answer is found by working.
  mutable PageBook pages_;
  mutable std::map<RequestId, std::vector<std::int32_t>> sequences_;
  mutable std::vector<RequestId> holding_;  // who may have pages
  mutable std::vector<TimedStep> steps_;
};

}  // namespace roofcast::runtime
