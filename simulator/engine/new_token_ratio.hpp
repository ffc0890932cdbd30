// SGLang's estimate of the share of their allowed output that running requests will still generate,
// used to decide how many more to admit (NewTokenRatioTracker in
// sglang/srt/managers/scheduler_components, and global_config for the constants).
#pragma once

#include <algorithm>
#include <cstdint>

namespace roofcast {

/// Decreases with every decode step from its initial value to a floor. A retraction sets it; an
/// idle engine resets it. Decode steps are counted as steps that are not prefills, so an engine
/// that advances many steps at once need not report them.
class NewTokenRatio {
 public:
  /// SGLANG_INIT_NEW_TOKEN_RATIO, SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR,
  /// SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS
  static constexpr double kInitial = 0.7;
  static constexpr double kFloorFactor = 0.14;
  static constexpr double kDecaySteps = 600;

  explicit NewTokenRatio(double conservativeness)
      : initial_(std::min(kInitial * conservativeness, 1.0)),
        floor_(initial_ * kFloorFactor),
        decay_((initial_ - floor_) / kDecaySteps),
        start_(initial_) {}

  /// The ratio before step number `step` (from 0).
  double at(std::int64_t step) const {
    const std::int64_t decodes = std::max<std::int64_t>(0, step - first_step_ - prefills_);
    if (decodes == 0) return start_;
    return std::max(start_ - decay_ * static_cast<double>(decodes), floor_);
  }

  /// Call when the step being decided is a prefill.
  void count_prefill() { ++prefills_; }

  /// From `step` on, the ratio decreases from `ratio`.
  void set(double ratio, std::int64_t step) {
    start_ = ratio;
    first_step_ = step;
    prefills_ = 0;
  }
  void reset(std::int64_t step) { set(initial_, step); }

 private:
  double initial_ = 0;
  double floor_ = 0;
  double decay_ = 0;
  double start_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t prefills_ = 0;  // since first_step_
};

}  // namespace roofcast
