// A step time scaled by a factor: what would follow if all steps were slower.
#pragma once

#include <vector>

#include "model/step/step_time.hpp"

namespace roofcast {

/// Returns `factor` times what `times` does, which must outlive it.
class ScaledStepTime final : public StepTime {
 public:
  ScaledStepTime(const StepTime& times, double factor) : times_(&times), factor_(factor) {}

  const std::vector<AttentionSpan>& spans() const override { return times_->spans(); }
  bool asks_for_longest() const override { return times_->asks_for_longest(); }
  Seconds seconds(const StepBatch& batch) const override {
    return times_->seconds(batch) * factor_;
  }
  int stages() const override { return times_->stages(); }
  void divide(const StepBatch& batch, StagedTime& time) const override {
    times_->divide(batch, time);
    time.scale(factor_);
  }

 private:
  const StepTime* times_;
  double factor_;
};

}  // namespace roofcast
