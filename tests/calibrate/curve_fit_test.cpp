#include "calibrate/curve_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace roofcast {
namespace {

using testing::HasSubstr;

constexpr int kUnits = 100;

OperatorShape matrix(std::int64_t n, std::int64_t k) {
  return {.family = OperatorFamily::gemm, .format = "bf16", .outputs = n, .inputs = k};
}

/// Times that are exactly the sum of known terms.
const PhysicalTerms kTerms{.floor = Seconds{4e-6},
                           .seconds_per_flop = 1.0 / 700e12,
                           .seconds_per_byte = 1.0 / 4e12,
                           .seconds_per_wave = 2e-6};

TimedPoint made_up(const OperatorShape& shape, double x, double y = 0, double factor = 1,
                   const std::string& kernel = "fake 1.0") {
  const MeasuredCurve curve{.shape = shape, .terms = kTerms};
  return {.shape = shape,
          .kernel = kernel,
          .point = {.x = x, .y = y, .time = base_time(curve, x, y, kUnits) * factor, .samples = 10},
          .name = "tokens " + std::to_string(static_cast<int>(x))};
}

std::vector<TimedPoint> gemm_points() {
  std::vector<TimedPoint> points;
  for (const std::int64_t n : {1024, 4096, 16384}) {
    for (const double m : {1.0, 16.0, 256.0, 4096.0}) {
      points.push_back(made_up(matrix(n, 4096), m));
    }
  }
  return points;
}

TEST(CurveFit, FindsKnownTerms) {
  const PhysicalTerms fitted = fit_terms(gemm_points(), kUnits);
  // Exact data, so that only rounding is left: 1e-9 is far above 12 points' worth of 1e-16 times
  // the condition of the scaled columns.
  EXPECT_NEAR(fitted.floor / kTerms.floor, 1.0, 1e-9);
  EXPECT_NEAR(fitted.seconds_per_flop / kTerms.seconds_per_flop, 1.0, 1e-9);
  EXPECT_NEAR(fitted.seconds_per_byte / kTerms.seconds_per_byte, 1.0, 1e-9);
  EXPECT_NEAR(fitted.seconds_per_wave / kTerms.seconds_per_wave, 1.0, 1e-9);
}

TEST(CurveFit, TermsAreNeverNegative) {
  // A launch of 4 us that falls to 1 us as bytes grow: a straight line through it would need a
  // negative slope.
  const OperatorShape norms{.family = OperatorFamily::memory_bound, .name = "norms"};
  std::vector<TimedPoint> points;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
    points.push_back(
        {.shape = norms,
         .point = {.x = bytes, .time = Seconds{4e-6 - 1e-6 * std::log10(bytes / 1e3)}}});
  }
  const PhysicalTerms fitted = fit_terms(points, kUnits);
  EXPECT_EQ(fitted.seconds_per_byte, 0);
  EXPECT_GT(fitted.floor.value, 1e-6);
  EXPECT_LT(fitted.floor.value, 4e-6);
}

TEST(CurveFit, FewPointsGetFewTerms) {
  const OperatorShape norms{.family = OperatorFamily::memory_bound, .name = "norms"};
  const auto at = [&](double bytes, double seconds) {
    return TimedPoint{.shape = norms, .point = {.x = bytes, .time = Seconds{seconds}}};
  };
  // One point: bytes alone, 2 us / 4 MB.
  const std::vector<TimedPoint> one{at(4e6, 2e-6)};
  EXPECT_NEAR(fit_terms(one, kUnits).seconds_per_byte, 0.5e-12, 1e-24);
  EXPECT_EQ(fit_terms(one, kUnits).floor.value, 0);
  // Two points: 2 us + 1 us a MB passes through both.
  const std::vector<TimedPoint> two{at(1e6, 3e-6), at(3e6, 5e-6)};
  EXPECT_NEAR(fit_terms(two, kUnits).floor.value, 2e-6, 1e-17);
  EXPECT_NEAR(fit_terms(two, kUnits).seconds_per_byte, 1e-12, 1e-23);
}

TEST(CurveFit, AnExactBaseLeavesNoError) {
  const FittedCurves fitted = fit_curves(gemm_points(), kUnits, nullptr);
  ASSERT_EQ(fitted.curves.size(), 3u);
  for (const MeasuredCurve& curve : fitted.curves) {
    EXPECT_EQ(curve.points.size(), 4u);
    EXPECT_LT(curve.p90_error, 1e-9);  // as above
    EXPECT_NEAR(curve.terms.floor / kTerms.floor, 1.0, 1e-9);
  }
}

TEST(CurveFit, AnErrorOfOnePointIsFound) {
  // Nine exact points and one that takes 1.5 times as long: left out, it is answered by 1 / 1.5 of
  // its time, an error of a third. The fit bends a little towards it.
  std::vector<TimedPoint> points;
  for (int i = 0; i <= 9; ++i) {
    points.push_back(made_up(matrix(4096, 4096), std::pow(2.0, i), 0, i == 5 ? 1.5 : 1.0));
  }
  const FittedCurves fitted = fit_curves(points, kUnits, nullptr);
  ASSERT_EQ(fitted.curves.size(), 1u);
  const auto error = leave_one_out_error(fitted.curves[0], 5, kUnits);
  ASSERT_TRUE(error.has_value());
  EXPECT_NEAR(*error, 1.0 / 3, 0.05);
  EXPECT_GE(fitted.curves[0].p90_error, fitted.curves[0].median_error);
  EXPECT_FALSE(leave_one_out_error(fitted.curves[0], 0, kUnits).has_value());
}

TEST(CurveFit, SourcesAndFormatsHaveCurvesOfTheirOwn) {
  std::vector<TimedPoint> points = gemm_points();
  for (const double m : {1.0, 16.0, 256.0, 4096.0}) {
    points.push_back(made_up(matrix(4096, 4096), m, 0, 2.0, "slow 1.0"));
    OperatorShape fp8 = matrix(4096, 4096);
    fp8.format = "fp8";
    points.push_back(made_up(fp8, m));
  }
  const FittedCurves fitted = fit_curves(points, kUnits, nullptr);
  EXPECT_EQ(fitted.curves.size(), 5u);
  // Each base is exact for its own points, though those of one shape alone do not tell its floor
  // from the time of its weights.
  for (const MeasuredCurve& curve : fitted.curves) {
    for (const MeasuredPoint& point : curve.points) {
      const Seconds base = base_time(curve, point.x, point.y, kUnits);
      EXPECT_NEAR(base / point.time, 1.0, 1e-9) << curve.kernel << curve.shape.format;
    }
  }
}

TEST(CurveFit, SourcesThatOvertakeEachOtherGetTheFastestBesides) {
  // "early" takes half the time up to 16 tokens, "late" from 64 on; "late" alone has 4096.
  std::vector<TimedPoint> points;
  for (const double m : {1.0, 4.0, 16.0, 64.0, 256.0}) {
    points.push_back(made_up(matrix(4096, 4096), m, 0, m < 32 ? 0.5 : 1.0, "early 1.0"));
    points.push_back(made_up(matrix(4096, 4096), m, 0, m < 32 ? 1.0 : 0.5, "late 1.0"));
  }
  points.push_back(made_up(matrix(4096, 4096), 4096, 0, 1.0, "late 1.0"));
  const FittedCurves fitted = fit_curves(points, kUnits, nullptr);
  ASSERT_EQ(fitted.curves.size(), 3u);
  const MeasuredCurve& fastest = fitted.curves.back();
  EXPECT_EQ(fastest.kernel, "early 1.0 or late 1.0");
  ASSERT_EQ(fastest.points.size(), 6u);
  for (const MeasuredPoint& point : fastest.points) {
    const double factor = point.x > 1000 ? 1.0 : 0.5;
    const TimedPoint same = made_up(matrix(4096, 4096), point.x, 0, factor);
    EXPECT_EQ(point.time, same.point.time) << point.x;
  }
  // And it is what answers.
  Measured measured;
  measured.curves = fitted.curves;
  EXPECT_EQ(find_curve(measured, matrix(4096, 4096))->kernel, fastest.kernel);
}

TEST(CurveFit, ASourceThatIsAlwaysFastestNeedsNoOther) {
  std::vector<TimedPoint> points;
  for (const double m : {1.0, 16.0, 256.0}) {
    points.push_back(made_up(matrix(512, 512), m, 0, 0.9, "quick 1.0"));
    points.push_back(made_up(matrix(512, 512), m, 0, 1.0, "slow 1.0"));
  }
  EXPECT_EQ(fit_curves(points, kUnits, nullptr).curves.size(), 2u);
}

TEST(CurveFit, PointsAscendAndEachSizeStandsOnce) {
  std::vector<TimedPoint> points;
  for (const double m : {64.0, 1.0, 8.0, 8.0}) points.push_back(made_up(matrix(512, 512), m));
  points.back().point.samples = 99;  // the second of the same size
  const FittedCurves fitted = fit_curves(points, kUnits, nullptr);
  ASSERT_EQ(fitted.curves[0].points.size(), 3u);
  EXPECT_EQ(fitted.curves[0].points[0].x, 1);
  EXPECT_EQ(fitted.curves[0].points[1].x, 8);
  EXPECT_EQ(fitted.curves[0].points[1].samples, 10);
  EXPECT_EQ(fitted.curves[0].points[2].x, 64);
}

TEST(CurveFit, PointsFasterThanPhysicsAreRejectedAndNamed) {
  Gpu gpu;
  gpu.display_name = "Test Card";
  gpu.memory_bandwidth = BytesPerSecond{4e12};
  gpu.l2_cache = Bytes{50e6};
  gpu.dense_peak[DType::bf16] = FlopsPerSecond{800e12};
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{60e12};
  std::vector<TimedPoint> points = gemm_points();
  // 2 * 4096^3 FLOPs = 137 GFLOP take 172 us at 800 TFLOP/s; 100 us cannot be.
  TimedPoint impossible = made_up(matrix(4096, 4096), 4096);
  impossible.point.time = Seconds{100e-6};
  impossible.name = "the impossible one";
  points.insert(points.begin(), impossible);
  const FittedCurves fitted = fit_curves(points, kUnits, &gpu);
  ASSERT_EQ(fitted.rejected.size(), 1u);
  EXPECT_THAT(fitted.rejected[0],
              HasSubstr("the impossible one: 100 us, where Test Card allows 172"));
  // The one that can be stands at its size.
  for (const MeasuredCurve& curve : fitted.curves) {
    for (const MeasuredPoint& point : curve.points) EXPECT_NE(point.time.value, 100e-6);
  }
}

TEST(CurveFit, AttentionHasTwoAxes) {
  const OperatorShape decode{.family = OperatorFamily::decode_attention,
                             .query_heads = 32,
                             .kv_heads = 8,
                             .head_dim = 128,
                             .value_dim = 128};
  std::vector<TimedPoint> points;
  for (const double sequences : {1.0, 4.0, 16.0, 64.0}) {
    for (const double context : {128.0, 2048.0, 32768.0}) {
      points.push_back(made_up(decode, sequences, context));
    }
  }
  const FittedCurves fitted = fit_curves(points, kUnits, nullptr);
  ASSERT_EQ(fitted.curves.size(), 1u);
  EXPECT_EQ(fitted.curves[0].points.size(), 12u);
  // 1,000 tokens of 8 sequences lie within the grid, and the base is exact.
  const CurveAnswer between = answer(fitted.curves[0], 8, 1000, kUnits);
  const MeasuredCurve truth{.shape = decode, .terms = kTerms};
  EXPECT_NEAR(between.time / base_time(truth, 8, 1000, kUnits), 1.0, 1e-6);
  EXPECT_EQ(between.provenance, Provenance::interpolated);
}

}  // namespace
}  // namespace roofcast
