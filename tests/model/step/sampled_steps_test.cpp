// Samples of the requested steps, and several steps averaged into one.
#include "model/step/sampled_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/step/scaled_step_time.hpp"
#include "model/step/step_estimate.hpp"

namespace roofcast {
namespace {

/// One second per sequence.
class SecondEach final : public StepTime {
 public:
  const std::vector<AttentionSpan>& spans() const override { return spans_; }
  Seconds seconds(const StepBatch& batch) const override {
    return Seconds{static_cast<double>(batch.decode_sequences)};
  }

 private:
  std::vector<AttentionSpan> spans_;
};

/// Requests batches of 0, 1, 2, ... sequences.
std::vector<std::int64_t> sample_of(std::int64_t asked) {
  const SecondEach times;
  const SampledSteps sampled(times);
  for (std::int64_t i = 0; i < asked; ++i) {
    EXPECT_EQ(sampled.seconds({.decode_sequences = i}).value, static_cast<double>(i));
  }
  std::vector<std::int64_t> kept;
  for (const StepBatch& batch : sampled.sample()) kept.push_back(batch.decode_sequences);
  return kept;
}

TEST(SampledSteps, FewAreAllKept) {
  EXPECT_EQ(sample_of(0).size(), 0U);
  EXPECT_EQ(sample_of(3), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(sample_of(SampledSteps::kMax).size(), SampledSteps::kMax);
}

TEST(SampledSteps, ManyAreKeptAtEqualDistances) {
  for (const std::int64_t asked : {65, 129, 1000, 12'345}) {
    const std::vector<std::int64_t> kept = sample_of(asked);
    ASSERT_LE(kept.size(), SampledSteps::kMax);
    ASSERT_GT(kept.size(), SampledSteps::kMax / 2 - 1);
    const std::int64_t distance = kept[1];
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i], static_cast<std::int64_t>(i) * distance);
    }
    EXPECT_LT(asked - 1 - kept.back(), distance);
  }
}

TEST(ScaledStepTime, IsAFactorTimesTheOther) {
  const SecondEach times;
  EXPECT_DOUBLE_EQ(ScaledStepTime(times, 1.5).seconds({.decode_sequences = 4}).value, 6.0);
}

/// A step with one operator.
StepEstimate step_of(OperatorFamily family, double seconds, double uncertainty) {
  OperatorEstimate op;
  op.work.family = family;
  op.time = Seconds{seconds};
  op.relative_uncertainty = uncertainty;
  return {.total = Seconds{seconds}, .device = Seconds{seconds}, .operators = {op}};
}

TEST(SumOfSteps, WhatErrsTogetherInAStepErrsTogetherOverSteps) {
  // 0.1 s of 1 s and 0.6 s of 3 s: of one family they add to 0.7 s of 4 s.
  const StepEstimate alike =
      sum_of({step_of(OperatorFamily::gemm, 1, 0.1), step_of(OperatorFamily::gemm, 3, 0.2)});
  EXPECT_DOUBLE_EQ(alike.total.value, 4.0);
  EXPECT_NEAR(alike.relative_uncertainty, 0.7 / 4, 1e-12);
  // Errors of two families are independent.
  const StepEstimate apart = sum_of(
      {step_of(OperatorFamily::gemm, 1, 0.1), step_of(OperatorFamily::memory_bound, 3, 0.2)});
  EXPECT_NEAR(apart.relative_uncertainty, std::sqrt(0.01 + 0.36) / 4, 1e-12);
}

TEST(SumOfSteps, HostTimeErrsByItself) {
  StepEstimate step = step_of(OperatorFamily::gemm, 1, 0.0);
  step.host = Seconds{3};
  step.total = Seconds{4};
  EXPECT_NEAR(sum_of({step, step}).relative_uncertainty, 6 * kHostUncertainty / 8, 1e-12);
}

TEST(SumOfSteps, NoStepsTakeNoTime) { EXPECT_EQ(sum_of({}).relative_uncertainty, 0.0); }

}  // namespace
}  // namespace roofcast
