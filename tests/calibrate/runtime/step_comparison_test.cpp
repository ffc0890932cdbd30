#include "calibrate/runtime/step_comparison.hpp"

#include <gtest/gtest.h>

#include "calibrate/runtime/textbook_profile.hpp"
#include "tests/calibrate/runtime/tiny_models.hpp"

namespace roofcast::runtime {
namespace {

/// 1 ms per decoding sequence, 10 ms per prompt token.
class Linear final : public StepTime {
 public:
  const std::vector<AttentionSpan>& spans() const override { return spans_; }
  Seconds seconds(const StepBatch& batch) const override {
    double time = 1e-3 * static_cast<double>(batch.decode_sequences);
    for (const PrefillChunk& chunk : batch.prefills) {
      time += 1e-2 * static_cast<double>(chunk.new_tokens);
    }
    return Seconds{time};
  }

 private:
  std::vector<AttentionSpan> spans_{{}};
};

StepBatch decodes(std::int64_t sequences) {
  StepBatch batch;
  batch.decode_sequences = sequences;
  return batch;
}

StepBatch prompt(std::int64_t tokens) {
  StepBatch batch;
  batch.prefills.push_back({.new_tokens = tokens});
  return batch;
}

TEST(StepComparison, TellsDecodeFromPrefill) {
  // Decode: 2 ms predicted for 2, 2.5 and 1 ms: errors 0, 0.2 and 1; together 6 over 5.5 ms.
  const std::vector<TimedStep> steps = {{.batch = decodes(2), .time = Seconds{2e-3}},
                                        {.batch = decodes(2), .time = Seconds{2.5e-3}},
                                        {.batch = decodes(2), .time = Seconds{1e-3}},
                                        {.batch = prompt(4), .time = Seconds{5e-2}}};
  const StepComparison comparison = compare_steps(steps, predicted_times(steps, Linear{}));
  EXPECT_EQ(comparison.decode.steps, 3);
  EXPECT_NEAR(comparison.decode.median_error, 0.2, 1e-12);
  EXPECT_NEAR(comparison.decode.p95_error, 0.92, 1e-12);  // a tenth of the way from 1 to 0.2
  EXPECT_NEAR(comparison.decode.bias, 6 / 5.5 - 1, 1e-12);
  EXPECT_EQ(comparison.prefill.steps, 1);
  EXPECT_NEAR(comparison.prefill.bias, 0.04 / 0.05 - 1, 1e-12);
}

TEST(StepComparison, SaysNothingOfStepsThatDidNotHappen) {
  const StepComparison comparison = compare_steps({}, {});
  EXPECT_EQ(comparison.decode.steps, 0);
  EXPECT_EQ(comparison.decode.median_error, 0);
}

TEST(TextbookProfile, SumsPrefillStepsAndTakesTheMedianOfDecodeSteps) {
  const RunnableModel model = test::tiny_dense();
  const TextbookProfile profile = textbook_profile(
      {{{.batch = prompt(4), .time = Seconds{5e-2}},
        {.batch = prompt(4), .time = Seconds{3e-2}},
        {.batch = decodes(2), .time = Seconds{2e-3}},
        {.batch = decodes(2), .time = Seconds{4e-3}},
        {.batch = decodes(2), .time = Seconds{3e-3}}}},
      model, {.batch = 2, .input_tokens = 4, .output_tokens = 4}, BytesPerSecond{1e9});
  EXPECT_DOUBLE_EQ(profile.prefill.value, 8e-2);
  EXPECT_DOUBLE_EQ(profile.decode_step.value, 3e-3);
  EXPECT_EQ(profile.decode_steps, 3);
  // Per layer: QKV 128 x 32, output 32 x 64, block 3 x 32 x 48, norms 2 x 32; twice; final norm 32
  // and LM head 101 x 32; 4 bytes each. KV of a token: 2 layers x 2 x 32 x 4 bytes; 2 sequences
  // of 6.
  const double weights = 4.0 * (2 * (128 * 32 + 32 * 64 + 3 * 32 * 48 + 2 * 32) + 32 + 101 * 32);
  const double cached = 2 * 6 * (2.0 * 2 * 32 * 4);
  EXPECT_DOUBLE_EQ(profile.decode_minimum.value, (weights + cached) / 1e9);
  EXPECT_DOUBLE_EQ(profile.decode_efficiency, (weights + cached) / 1e9 / 3e-3);
}

TEST(TextbookProfile, IsTheMedianOfTheRepeats) {
  // Prefills of 10, 30 and 20 ms: median 20, quartiles 15 and 25. Decodes of 1, 2, 3, 4 and 5 ms
  // over the repeats: median 3, quartiles 2 and 4.
  const auto prefill = [](double ms) {
    return TimedStep{.batch = prompt(4), .time = Seconds{1e-3 * ms}};
  };
  const auto decode = [](double ms) {
    return TimedStep{.batch = decodes(1), .time = Seconds{1e-3 * ms}};
  };
  const TextbookProfile profile = textbook_profile(
      {{prefill(10), decode(1), decode(5)},
       {prefill(30), decode(4)},
       {prefill(20), decode(2), decode(3)}},
      test::tiny_dense(), {.batch = 1, .input_tokens = 4, .output_tokens = 3}, BytesPerSecond{1e9});
  EXPECT_EQ(profile.repeats, 3);
  EXPECT_DOUBLE_EQ(profile.prefill.value, 20e-3);
  EXPECT_DOUBLE_EQ(profile.prefill_p25.value, 15e-3);
  EXPECT_DOUBLE_EQ(profile.prefill_p75.value, 25e-3);
  EXPECT_EQ(profile.decode_steps, 5);
  EXPECT_DOUBLE_EQ(profile.decode_step.value, 3e-3);
  EXPECT_DOUBLE_EQ(profile.decode_p25.value, 2e-3);
  EXPECT_DOUBLE_EQ(profile.decode_p75.value, 4e-3);
}

TEST(TextbookProfile, StepsOfAPartOfTheBatchSayNothingOfIt) {
  const RunnableModel model = test::tiny_dense();
  const TextbookLoad load{.batch = 2, .input_tokens = 4, .output_tokens = 3};
  const TimedStep one{.batch = decodes(1), .time = Seconds{1e-3}};
  const TimedStep both{.batch = decodes(2), .time = Seconds{5e-3}};
  const TextbookProfile profile =
      textbook_profile({{one, one, both}}, model, load, BytesPerSecond{1e9});
  EXPECT_EQ(profile.decode_steps, 1);
  EXPECT_DOUBLE_EQ(profile.decode_step.value, 5e-3);
  EXPECT_EQ(textbook_profile({{one, one}}, model, load, BytesPerSecond{1e9}).decode_steps, 0);
}

}  // namespace
}  // namespace roofcast::runtime
