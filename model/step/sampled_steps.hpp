// A step time that keeps a sample of the steps it was asked for, to report afterwards what a run's
// times are based on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/step/step_time.hpp"

namespace roofcast {

/// Returns what `times` does, which must outlive it. Keeps every n-th batch and doubles n as they
/// become too many: at most kMax, evenly spread over the steps asked for. Not thread-safe.
class SampledSteps final : public StepTime {
 public:
  static constexpr std::size_t kMax = 64;

  explicit SampledSteps(const StepTime& times) : times_(&times) {}

  const std::vector<AttentionSpan>& spans() const override { return times_->spans(); }
  bool asks_for_longest() const override { return times_->asks_for_longest(); }

  Seconds seconds(const StepBatch& batch) const override {
    if (asked_++ % every_ == 0) keep(batch);
    return times_->seconds(batch);
  }
  int stages() const override { return times_->stages(); }
  void divide(const StepBatch& batch, StagedTime& time) const override {
    if (asked_++ % every_ == 0) keep(batch);
    times_->divide(batch, time);
  }

  /// In the order in which they were asked for.
  const std::vector<StepBatch>& sample() const { return sample_; }

 private:
  void keep(const StepBatch& batch) const {
    if (sample_.size() < kMax) {
      sample_.push_back(batch);
      return;
    }
    for (std::size_t i = 1; 2 * i < kMax; ++i) sample_[i] = sample_[2 * i];
    sample_.resize(kMax / 2);
    every_ *= 2;
    sample_.push_back(batch);  // number kMax * (every_ / 2), a multiple of the new distance
  }

  const StepTime* times_;
  mutable std::vector<StepBatch> sample_{};
  mutable std::int64_t asked_ = 0;
  mutable std::int64_t every_ = 1;
};

}  // namespace roofcast
