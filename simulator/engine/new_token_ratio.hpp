// SGLang's guess of how much of their allowed output running requests will still generate, by which
// it decides how many more to admit (NewTokenRatioTracker in
// sglang/srt/managers/scheduler_components, and global_config for the constants).
#pragma once

#include <algorithm>
#include <cstdint>

namespace roofcast {

/// Falls with every decode step from its start to a floor; a retraction sets it anew, an idle
/// engine starts again. Decode steps are the steps that were not prefills, so that an engine which
/// takes many at once need not report them.
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

  /// Before step number `step` (from 0).
  double at(std::int64_t step) const {
    const std::int64_t decodes = std::max<std::int64_t>(0, step - first_step_ - prefills_);
    if (decodes == 0) return start_;
    return std::max(start_ - decay_ * static_cast<double>(decodes), floor_);
  }

  /// The step that is being decided is a prefill.
  void count_prefill() { ++prefills_; }

  /// From `step` on it falls from `ratio`.
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
  std::int64_t prefills_ = 0;  // since
};

}  // namespace roofcast
