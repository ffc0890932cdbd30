#include "model/curves/measured_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace roofcast {
namespace {

constexpr int kUnits = 100;

constexpr Seconds us(double value) { return Seconds{value * 1e-6}; }

/// A curve whose base is one microsecond at every size, so that the ratio is the time in
/// microseconds and results can be checked by hand.
MeasuredCurve flat_base(OperatorFamily family, std::vector<MeasuredPoint> points) {
  MeasuredCurve curve;
  curve.shape = {.family = family, .format = "bf16", .outputs = 256, .inputs = 128};
  if (has_second_axis(family)) {
    curve.shape = {
        .family = family, .query_heads = 8, .kv_heads = 2, .head_dim = 64, .value_dim = 64};
  }
  curve.kernel = "invented";
  curve.terms.floor = us(1);
  curve.points = std::move(points);
  return curve;
}

MeasuredPoint at(double x, double microseconds, double y = 0, double spread = 0) {
  return {.x = x, .y = y, .time = us(microseconds), .relative_spread = spread, .samples = 10};
}

TEST(Measured, ATimedSizeIsAnsweredExactly) {
  const MeasuredCurve curve =
      flat_base(OperatorFamily::memory_bound, {at(16, 2, 0, 0.05), at(64, 4.7)});
  const CurveAnswer answered = answer(curve, 16, 0, kUnits);
  EXPECT_EQ(answered.time, us(2));
  EXPECT_EQ(answered.provenance, Provenance::measured);
  // Half of p90 - p10 is 1.2816 standard deviations.
  EXPECT_NEAR(answered.relative_uncertainty, 0.05 / 1.2816, 1e-12);
  EXPECT_EQ(answer(curve, 64, 0, kUnits).time, us(4.7));
}

TEST(Measured, BetweenPointsTheRatioIsLinearInTheLogarithm) {
  // log2 as chords: 24 is at 4.5, a quarter of the way from 16 (4) to 64 (6).
  MeasuredCurve curve = flat_base(OperatorFamily::memory_bound, {at(16, 2), at(64, 4)});
  curve.p90_error = 0.08;
  const CurveAnswer quarter = answer(curve, 24, 0, kUnits);
  EXPECT_NEAR(quarter.time.value, 2.5e-6, 1e-18);
  EXPECT_EQ(quarter.provenance, Provenance::interpolated);
  EXPECT_NEAR(quarter.relative_uncertainty, 0.08 / 1.6449, 1e-12);
  EXPECT_NEAR(answer(curve, 32, 0, kUnits).time.value, 3e-6, 1e-18);
}

TEST(Measured, SizesNearerThanLogarithmsTellApartAreAnsweredByTheLower) {
  // 16 + 1e-15 is 16 in a double, so that both prefixes stand at one place of their axis.
  const MeasuredCurve prompts =
      flat_base(OperatorFamily::prefill_attention, {at(16, 2), at(16, 3, 1e-15), at(16, 4, 1024)});
  EXPECT_EQ(answer(prompts, 16, 5e-16, kUnits).time, us(2));
  // Some dozen doubles lie between these two, and their logarithms are equal.
  const double next = 0x1p40 * (1 + 0x1p-50);
  const MeasuredCurve norms =
      flat_base(OperatorFamily::memory_bound, {at(0x1p40 * (1 - 0x1p-50), 2), at(next, 3)});
  EXPECT_TRUE(std::isfinite(answer(norms, 0x1p40, 0, kUnits).time.value));
}

TEST(Measured, TheBaseCarriesTheShapeOfTheTime) {
  // Base 1 us + 1 us a byte; measured at twice the base everywhere: so are all sizes between.
  MeasuredCurve curve = flat_base(OperatorFamily::memory_bound, {at(4, 10), at(1000, 2002)});
  curve.terms.seconds_per_byte = 1e-6;
  for (const double x : {4.0, 5.0, 17.0, 555.5, 1000.0}) {
    EXPECT_NEAR(answer(curve, x, 0, kUnits).time.value, 2e-6 * (1 + x), 1e-15) << x;
  }
}

TEST(Measured, TheSecondAxisIsInterpolatedLikeTheFirst) {
  // Ratios 1 and 3 at one sequence, 2 and 6 at four; halfway on both axes (2 sequences, 2048 of
  // 1024 to 4096 tokens): the mean of (1 + 3) / 2 and (2 + 6) / 2.
  const MeasuredCurve curve =
      flat_base(OperatorFamily::decode_attention,
                {at(1, 1, 1024), at(1, 3, 4096), at(4, 2, 1024), at(4, 6, 4096)});
  EXPECT_NEAR(answer(curve, 2, 2048, kUnits).time.value, 3e-6, 1e-18);
  EXPECT_EQ(answer(curve, 4, 4096, kUnits).time, us(6));
  EXPECT_NEAR(answer(curve, 4, 2048, kUnits).time.value, 4e-6, 1e-18);
  EXPECT_EQ(answer(curve, 4, 2048, kUnits).provenance, Provenance::interpolated);
}

TEST(Measured, APromptWithoutPrefixIsNoSpecialCase) {
  // Chunks of 512 behind 0 and 1536 tokens: 512 and 2048 in all. 512 behind 512 is halfway.
  const MeasuredCurve curve =
      flat_base(OperatorFamily::prefill_attention, {at(512, 2, 0), at(512, 4, 1536)});
  EXPECT_EQ(answer(curve, 512, 0, kUnits).time, us(2));
  EXPECT_NEAR(answer(curve, 512, 512, kUnits).time.value, 3e-6, 1e-18);
}

TEST(Measured, ARowThatWasNotTimedSoFarHoldsItsLastRatio) {
  // Four sequences were only timed up to 1024 tokens (memory).
  const MeasuredCurve curve =
      flat_base(OperatorFamily::decode_attention, {at(1, 1, 1024), at(1, 3, 4096), at(4, 2, 1024)});
  const CurveAnswer beyond = answer(curve, 4, 4096, kUnits);
  EXPECT_NEAR(beyond.time.value, 2e-6, 1e-18);
  EXPECT_EQ(beyond.provenance, Provenance::extended);
  // Between the rows: half of 3 (timed) and half of 2 (held).
  const CurveAnswer partly = answer(curve, 2, 4096, kUnits);
  EXPECT_NEAR(partly.time.value, 2.5e-6, 1e-18);
  EXPECT_EQ(partly.provenance, Provenance::extended);
}

TEST(Measured, AMatrixProductIsNotInterpolatedAcrossAPowerOfTwoWithAPointBehindIt) {
  const MeasuredCurve curve =
      flat_base(OperatorFamily::gemm, {at(32, 1), at(64, 2), at(65, 4), at(128, 5)});
  // Left limit: 63 is at 5 + 31/32, 31/32 of the way from 32 to 64.
  EXPECT_NEAR(answer(curve, 63, 0, kUnits).time.value, 1.96875e-6, 1e-18);
  EXPECT_EQ(answer(curve, 64, 0, kUnits).time, us(2));
  EXPECT_EQ(answer(curve, 65, 0, kUnits).time, us(4));
  // Right limit: 65 is at 6 + 1/64, 96 at 6.5, 128 at 7.
  EXPECT_NEAR(answer(curve, 96, 0, kUnits).time.value, (4 + 31.0 / 63.0) * 1e-6, 1e-18);
}

TEST(Measured, BeforeAStepWithoutItsPowerOfTwoTheLastRatioHolds) {
  MeasuredCurve curve = flat_base(OperatorFamily::gemm, {at(32, 1), at(65, 4), at(128, 5)});
  curve.p90_error = 0.1;
  const CurveAnswer before = answer(curve, 64, 0, kUnits);
  EXPECT_EQ(before.time, us(1));
  EXPECT_EQ(before.provenance, Provenance::extended);
  EXPECT_NEAR(before.relative_uncertainty, 0.1 / 1.6449 * std::sqrt(3.0), 1e-12);  // an octave
  // Other families have no such step.
  curve.shape.family = OperatorFamily::memory_bound;
  EXPECT_EQ(answer(curve, 64, 0, kUnits).provenance, Provenance::interpolated);
}

TEST(Measured, OutsideTheTimedRangeTheNearestRatioHoldsAndUncertaintyGrows) {
  MeasuredCurve curve = flat_base(OperatorFamily::memory_bound, {at(16, 34), at(64, 65)});
  curve.terms.seconds_per_byte = 1e-6;  // base 17 us and 65 us: ratios 2 and 1
  curve.p90_error = 0.16449;
  const CurveAnswer below = answer(curve, 4, 0, kUnits);
  EXPECT_NEAR(below.time.value, 2 * 5e-6, 1e-17);
  EXPECT_EQ(below.provenance, Provenance::extended);
  EXPECT_NEAR(below.relative_uncertainty, 0.1 * std::sqrt(1 + 2 * 2.0), 1e-12);  // two octaves
  const CurveAnswer above = answer(curve, 512, 0, kUnits);
  EXPECT_NEAR(above.time.value, 513e-6, 1e-15);
  EXPECT_NEAR(above.relative_uncertainty, 0.1 * std::sqrt(1 + 2 * 3.0), 1e-12);
  double last = 0;
  for (double x = 64.5; x < 1e9; x *= 1.5) {
    const double now = answer(curve, x, 0, kUnits).relative_uncertainty;
    EXPECT_GE(now, last);
    EXPECT_LE(now, 1.0);
    last = now;
  }
}

TEST(Measured, ASinglePointHoldsEverywhere) {
  const MeasuredCurve curve = flat_base(OperatorFamily::gemm, {at(8, 3)});
  EXPECT_EQ(answer(curve, 1, 0, kUnits).time, us(3));
  EXPECT_EQ(answer(curve, 1000, 0, kUnits).time, us(3));
  EXPECT_GT(answer(curve, 1000, 0, kUnits).relative_uncertainty, 0.1);
}

TEST(Measured, LeavingAPointOutAnswersItFromTheOthers) {
  MeasuredCurve curve = flat_base(OperatorFamily::memory_bound,
                                  {at(1, 1), at(2, 1.5), at(4, 1), at(8, 1), at(16, 2)});
  // 2 from 1 and 4: 1 us for 1.5 us, -33 %. 4 from 2 and 8: 1.25 us, +25 %. 8 from 4 and 16: 1.5
  // us, +50 %. The ends have no neighbour on one side and do not count.
  EXPECT_NEAR(answer_without(curve, 1, kUnits).time.value, 1e-6, 1e-18);
  EXPECT_EQ(answer_without(curve, 0, kUnits).provenance, Provenance::extended);
  set_errors(curve, kUnits);
  EXPECT_NEAR(curve.median_error, 1.0 / 3, 1e-12);
  EXPECT_NEAR(curve.p90_error, 1.0 / 3 + 0.8 * (0.5 - 1.0 / 3), 1e-12);  // rank 0.9 * 2 = 1.8
  curve.points.pop_back();  // two errors make no quantile
  set_errors(curve, kUnits);
  EXPECT_EQ(curve.median_error, 0);
}

TEST(Measured, APointBehindAPowerOfTwoIsLeftOutTowardsTheLargerSizes) {
  const MeasuredCurve curve =
      flat_base(OperatorFamily::gemm, {at(64, 2), at(65, 4), at(96, 5), at(128, 5)});
  const CurveAnswer guess = answer_without(curve, 1, kUnits);
  EXPECT_EQ(guess.time, us(5));
  EXPECT_EQ(guess.provenance, Provenance::extended);
}

TEST(Measured, TheFastestSourceAnswers) {
  Measured measured;
  measured.curves = {flat_base(OperatorFamily::gemm, {at(1, 3), at(64, 3)}),
                     flat_base(OperatorFamily::gemm, {at(1, 2), at(2, 9), at(64, 4)})};
  measured.curves[1].kernel = "other";
  // Common points: (3 * 3) against (2 * 4).
  EXPECT_EQ(find_curve(measured, measured.curves[0].shape)->kernel, "other");
  OperatorShape unknown = measured.curves[0].shape;
  unknown.inputs = 64;
  EXPECT_EQ(find_curve(measured, unknown), nullptr);
}

TEST(Measured, FullAttentionAnswersForAWindowThatWasNotTimed) {
  Measured measured;
  measured.curves = {flat_base(OperatorFamily::decode_attention, {at(1, 3)})};
  OperatorShape windowed = measured.curves[0].shape;
  windowed.window = 128;
  EXPECT_EQ(find_blend(measured, windowed).shape.window, 0);
  measured.curves.push_back(measured.curves[0]);
  measured.curves[1].shape = windowed;
  EXPECT_EQ(find_blend(measured, windowed).shape.window, 128);
  EXPECT_EQ(find_blend(measured, measured.curves[0].shape).shape.window, 0);
}

TEST(Measured, EvenlyPickedExpertsAnswerForUnevenOnesThatWereNotTimed) {
  Measured measured;
  measured.curves = {flat_base(OperatorFamily::moe, {at(1, 3)})};
  OperatorShape uneven = measured.curves[0].shape;
  uneven.power_law = 120;
  EXPECT_EQ(find_blend(measured, uneven).shape.power_law, 0);
  measured.curves.push_back(measured.curves[0]);
  measured.curves[1].shape = uneven;
  EXPECT_EQ(find_blend(measured, uneven).shape.power_law, 120);
}

TEST(Measured, TheSameSizesInAFormatOfTheSameKernelsStandIn) {
  Measured measured;
  measured.curves = {flat_base(OperatorFamily::gemm, {at(1, 3), at(64, 3)})};
  OperatorShape half = measured.curves[0].shape;
  half.format = "fp16";
  const CurveAnswer stand_in = answer(find_blend(measured, half), 1, 0, kUnits);
  EXPECT_EQ(stand_in.time, us(3));
  EXPECT_EQ(stand_in.provenance, Provenance::extended);
  half.format = "int8";
  EXPECT_TRUE(find_blend(measured, half).parts.empty());
}

TEST(Measured, AMatrixThatWasNeverTimedIsAnsweredByItsNeighbours) {
  // Base: 1 ns a byte of weight and activation. Neighbours with half and with double the outputs,
  // an octave away on either side, at 2 and 4 times their base: sqrt(8) times that of the shape.
  const auto neighbour = [](std::int64_t outputs, double ratio) {
    MeasuredCurve curve = flat_base(OperatorFamily::gemm, {});
    curve.shape.outputs = outputs;
    curve.terms = {.seconds_per_byte = 1e-9};
    for (const double x : {1.0, 64.0}) {
      const Seconds base = base_time(curve, x, 0, kUnits);
      curve.points.push_back({.x = x, .time = base * ratio, .samples = 9});
    }
    curve.p90_error = 0.16449;
    return curve;
  };
  Measured measured;
  measured.curves = {neighbour(128, 2), neighbour(512, 4)};
  OperatorShape shape = measured.curves[0].shape;
  shape.outputs = 256;
  const CurveBlend blend = find_blend(measured, shape);
  ASSERT_EQ(blend.parts.size(), 2U);
  EXPECT_EQ(blend.octaves, 1);
  const CurveAnswer generic = answer(blend, 64, 0, kUnits);
  const double bytes = 256 * 128 * 2 + 64 * (256 + 128) * 2;
  EXPECT_NEAR(generic.time.value, std::sqrt(8.0) * 1e-9 * bytes, 1e-15);
  EXPECT_EQ(generic.provenance, Provenance::extended);
  // The points' own spread is 0; the two are 1 / sqrt(2) and sqrt(2) times the mean.
  const double spread = std::hypot(1 - std::sqrt(0.5), std::sqrt(2.0) - 1) / std::sqrt(2.0);
  EXPECT_NEAR(generic.relative_uncertainty, spread, 1e-9);
  const CurveAnswer between = answer(blend, 8, 0, kUnits);
  EXPECT_NEAR(between.relative_uncertainty, std::hypot(0.1 * std::sqrt(3.0), spread), 1e-9);

  shape.family = OperatorFamily::moe;
  EXPECT_TRUE(find_blend(measured, shape).parts.empty());
}

TEST(Measured, OnlyTheFourNearestNeighboursCount) {
  Measured measured;
  for (const std::int64_t outputs : {16, 32, 64, 128, 512, 1024}) {
    measured.curves.push_back(flat_base(OperatorFamily::gemm, {at(1, 3)}));
    measured.curves.back().shape.outputs = outputs;
  }
  OperatorShape shape = measured.curves[0].shape;
  shape.outputs = 256;
  const CurveBlend blend = find_blend(measured, shape);
  ASSERT_EQ(blend.parts.size(), 4U);
  double sum = 0;
  for (const CurveBlend::Part& part : blend.parts) {
    sum += part.weight;
    EXPECT_GE(part.curve.shape.outputs, 64);
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

/// Random curves of every family: whatever is asked, the ratio to the base stays within those of
/// the points, and the answer is a number.
TEST(Measured, NoAnswerLeavesTheRangeOfTheRatios) {
  std::mt19937 random(7);  // a test's own numbers; the bounds hold for any
  std::uniform_real_distribution<double> share(0.0, 1.0);
  for (int round = 0; round < 200; ++round) {
    const OperatorFamily family = std::array{
        OperatorFamily::gemm, OperatorFamily::prefill_attention, OperatorFamily::decode_attention,
        OperatorFamily::memory_bound}[static_cast<std::size_t>(round % 4)];
    MeasuredCurve curve = flat_base(family, {});
    curve.terms = {.floor = us(2), .seconds_per_flop = 1e-13, .seconds_per_byte = 1e-12};
    double low = 1e9;
    double high = 0;
    for (double x = 1; x < 5000; x = std::floor(x * (1.1 + 3 * share(random)) + 1)) {
      for (double y = has_second_axis(family) ? 1 : 0; y < 5000; y = y * 4 + 7) {
        const double ratio = 0.5 + 2 * share(random);
        low = std::min(low, ratio);
        high = std::max(high, ratio);
        curve.points.push_back({.x = x, .y = y, .time = base_time(curve, x, y, kUnits) * ratio});
        if (!has_second_axis(family)) break;
      }
    }
    for (int i = 0; i < 100; ++i) {
      const double x = std::exp(12 * share(random));
      const double y = has_second_axis(family) ? std::exp(12 * share(random)) : 0;
      const CurveAnswer answered = answer(curve, x, y, kUnits);
      const double ratio = answered.time / base_time(curve, x, y, kUnits);
      ASSERT_GE(ratio, low * (1 - 1e-12));
      ASSERT_LE(ratio, high * (1 + 1e-12));
      ASSERT_GE(answered.relative_uncertainty, 0);
      ASSERT_LE(answered.relative_uncertainty, 1);
    }
  }
}

}  // namespace
}  // namespace roofcast
