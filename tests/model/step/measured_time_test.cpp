#include "model/step/measured_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/model/curves/measured_cases.hpp"

namespace roofcast {
namespace {

constexpr int kTimeUnits = 100;
constexpr double kTimeRounding = 1e-12;

TEST(MonotoneTable, IsBilinearBetweenNodesAndRaisesWhatFalls) {
  // x * y at nodes {1, 3} x {2, 4}, but 1 at (3, 4), which the 6 at (3, 2) overrules.
  const MonotoneTable table({1, 3}, {2, 4});
  const auto time = [](double x, double y) { return Seconds{x == 3 && y == 4 ? 1.0 : x * y}; };
  EXPECT_EQ(table.at(1, 2, time).value, 2);
  EXPECT_EQ(table.at(2, 2, time).value, 4);
  EXPECT_EQ(table.at(1, 3, time).value, 3);
  EXPECT_EQ(table.at(3, 4, time).value, 6);
  EXPECT_EQ(table.at(2, 3, time).value, (2 + 6 + 4 + 6) / 4.0);
  EXPECT_EQ(table.at(0.1, 2, time).value, 2);  // below the first node
  EXPECT_EQ(table.at(6, 2, time).value, 12);   // beyond the last: proportional
  EXPECT_EQ(table.min(time).value, 2);
}

TEST(MonotoneTable, OneNodeOnAnAxisIsThatAxisLeftOut) {
  const MonotoneTable table({1, 2}, {0});
  const auto time = [](double x, double) { return Seconds{x}; };
  EXPECT_EQ(table.at(1.5, 0, time).value, 1.5);
  EXPECT_EQ(table.at(1.5, 7, time).value, 1.5);
}

TEST(MonotoneTable, NeverFallsAlongEitherAxis) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  const auto nodes = octave_nodes(1, 300, 3);
  const MonotoneTable table(nodes, nodes);
  const auto time = [&](double, double) { return Seconds{any(random)}; };
  for (int i = 0; i < 20000; ++i) {
    const double x = 400 * any(random);
    const double y = 400 * any(random);
    const double more = 1 + any(random);
    ASSERT_LE(table.at(x, y, time).value, table.at(x * more, y, time).value * (1 + kTimeRounding));
    ASSERT_LE(table.at(x, y, time).value, table.at(x, y * more, time).value * (1 + kTimeRounding));
  }
}

TEST(MonotoneTable, TimesANodeOnceAndOnlyWhenAnAnswerDependsOnIt) {
  const MonotoneTable table({1, 2, 4, 8}, {1, 2, 4, 8});
  int timed = 0;
  const auto time = [&](double x, double y) {
    ++timed;
    return Seconds{x + y};
  };
  EXPECT_EQ(table.at(1, 1.5, time).value, 2.5);
  EXPECT_EQ(timed, 4);  // the cell's corners
  EXPECT_EQ(table.at(3, 1, time).value, 4);
  EXPECT_EQ(timed, 6);  // 4 on the first axis, at 1 and 2 on the second
  EXPECT_EQ(table.at(1, 1.5, time).value, 2.5);
  EXPECT_EQ(timed, 6);
}

TEST(OctaveNodes, HoldThePowersOfTwoAndWhatIsBetween) {
  EXPECT_EQ(octave_nodes(3, 8, 2), (std::vector<double>{3, 4, 6, 8}));
  EXPECT_EQ(octave_nodes(1, 1, 4), (std::vector<double>{1}));
}

OperatorShape attention(OperatorFamily family) {
  return {.family = family, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .value_dim = 128};
}

MeasuredTimes times_of(MeasuredCurve curve, const AttentionSpan& span = {}) {
  CurveBlend blend{.shape = curve.shape};
  blend.parts.push_back({std::move(curve), 1.0});
  return MeasuredTimes(std::move(blend), kTimeUnits, span);
}

TEST(MeasuredTimes, AreThePointsWhereTheyRise) {
  const MeasuredCurve curve = test::made_curve(attention(OperatorFamily::decode_attention),
                                               {1, 3, 64}, {100, 5000}, kTimeUnits);
  const MeasuredTimes times = times_of(curve);
  for (const MeasuredPoint& point : curve.points) {
    EXPECT_EQ(times.at(point.x, point.y), point.time);
    EXPECT_EQ(times.explain(point.x, point.y).provenance, Provenance::measured);
  }
}

TEST(MeasuredTimes, FollowTheCurveWithinOnePercent) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  for (const OperatorFamily family :
       {OperatorFamily::decode_attention, OperatorFamily::prefill_attention}) {
    MeasuredCurve curve = test::made_curve(attention(family), {1, 16, 64, 256, 2048},
                                           {128, 1024, 8192, 65536}, kTimeUnits);
    for (MeasuredPoint& point : curve.points) {  // a ratio that rises from 1 to 1.5
      point.time = point.time * (1.5 - 0.5 / (point.x + point.y / 128));
    }
    const MeasuredTimes times = times_of(curve);
    for (int i = 0; i < 5000; ++i) {
      const double x = std::exp(std::log(4096.0) * any(random));
      const double y = std::exp(std::log(1e5) * any(random));
      const double exact = answer(curve, x, y, kTimeUnits).time.value;
      ASSERT_NEAR(times.at(x, y).value, exact, 0.01 * exact) << x << " " << y;
    }
  }
}

TEST(MeasuredTimes, NeverFallHoweverThePointsJump) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  for (const OperatorFamily family : {OperatorFamily::gemm, OperatorFamily::prefill_attention,
                                      OperatorFamily::decode_attention}) {
    OperatorShape shape = attention(family);
    if (family == OperatorFamily::gemm) {
      shape = {.family = family, .format = "bf16", .outputs = 512, .inputs = 512};
    }
    const std::vector<double> y =
        has_second_axis(family) ? std::vector<double>{64, 500, 4096} : std::vector<double>{0};
    MeasuredCurve curve = test::made_curve(shape, {1, 3, 8, 9, 64, 65, 300}, y, kTimeUnits);
    for (MeasuredPoint& point : curve.points) point.time = point.time * (0.3 + 2 * any(random));
    for (const AttentionSpan& span :
         {AttentionSpan{}, AttentionSpan{.kind = AttentionSpan::Kind::sliding, .tokens = 200}}) {
      const MeasuredTimes times = times_of(curve, span);
      for (int i = 0; i < 20000; ++i) {
        const double at_x = std::exp(13 * any(random));
        const double at_y = has_second_axis(family) ? std::exp(13 * any(random)) : 0;
        const double more = 1 + any(random);
        const double now = times.at(at_x, at_y).value;
        ASSERT_LE(now, times.at(at_x * more, at_y).value * (1 + kTimeRounding))
            << at_x << " " << at_y;
        ASSERT_LE(now, times.at(at_x, at_y * more).value * (1 + kTimeRounding))
            << at_x << " " << at_y;
      }
    }
  }
}

TEST(MeasuredTimes, ABatchOfPromptsTakesWhatWasTimedOfTheSumOfItsPrompts) {
  // One prompt of 64 tokens takes 4 us, of which 1 us is fixed: four take 1 + 4 * 3 = 13 us one by
  // one. Timed together they took 7 us.
  Gpu gpu = test::round_gpu();
  MeasuredCurve one{.shape = attention(OperatorFamily::prefill_attention),
                    .kernel = "some",
                    .terms = {.floor = Seconds{1e-6}},
                    .points = {{.x = 64, .time = Seconds{4e-6}, .samples = 1}}};
  gpu.measured = Measured();
  gpu.measured->curves = {one};
  EXPECT_EQ(measured_times(gpu, one.shape)->batch_ratio(4, 64, 0), 1);
  MeasuredCurve four = one;
  four.shape.prompts = 4;
  four.points[0].time = Seconds{7e-6};
  gpu.measured->curves.push_back(four);
  four.kernel = "another's";  // not what answers for one prompt
  four.points[0].time = Seconds{70e-6};
  gpu.measured->curves.push_back(four);
  const auto times = measured_times(gpu, one.shape);
  EXPECT_NEAR(times->batch_ratio(4, 64, 0), 7.0 / 13, 1e-9);
  EXPECT_NEAR(times->batch_ratio(2, 64, 0), (1 + 7.0 / 13) / 2, 1e-9);  // an octave of two
  EXPECT_NEAR(times->batch_ratio(16, 64, 0), 7.0 / 13, 1e-9);
  EXPECT_EQ(times->batch_ratio(1, 64, 0), 1);
}

TEST(MeasuredTimes, AWindowThatIsNotReachedChangesNothing) {
  const MeasuredCurve curve = test::made_curve(attention(OperatorFamily::prefill_attention),
                                               {16, 128, 1024, 8192}, {0, 1024, 8192}, kTimeUnits);
  const MeasuredTimes full = times_of(curve);
  const MeasuredTimes windowed =
      times_of(curve, {.kind = AttentionSpan::Kind::sliding, .tokens = 4096});
  for (const double x : {16.0, 100.0, 1500.0}) {
    EXPECT_NEAR(windowed.at(x, 2000).value, full.at(x, 2000).value, 0.01 * full.at(x, 2000).value);
    EXPECT_EQ(windowed.explain(x, 0).provenance, full.explain(x, 0).provenance);
  }
}

TEST(MeasuredTimes, AWindowMakesALongPromptGrowByItsTokens) {
  // Terms alone: FLOPs per pair and bytes per token. 32,768 tokens in a window of 1,024 have
  // 32768 * 1024 - 1024 * 1023 / 2 = 33,030,656 pairs (16,384.5 tokens for each without a window:
  // 536,887,296), at 2 * 256 * 32 FLOPs a pair and twice the round GPU's 100 TFLOP/s: 10.82 ms; and
  // 32768 * (8 + 32) * 256 * 2 = 671 MB at half a TB/s: 1.34 ms; and the floor.
  const MeasuredCurve curve = test::made_curve(attention(OperatorFamily::prefill_attention),
                                               {16, 128, 1024, 8192, 32768}, {0, 8192}, kTimeUnits);
  const MeasuredTimes windowed =
      times_of(curve, {.kind = AttentionSpan::Kind::sliding, .tokens = 1024});
  const double pairs = 33030656.0 * 2 * 256 * 32 * 2 / 100e12;
  const double bytes = 32768.0 * 40 * 256 * 2 * 2 / 1e12;
  const CurveAnswer answered = windowed.explain(32768, 0);
  EXPECT_NEAR(answered.time.value, 5e-6 + pairs + bytes, 0.01 * (pairs + bytes));
  EXPECT_EQ(answered.provenance, Provenance::extended);
  // A prefix longer than the window adds nothing.
  EXPECT_EQ(windowed.at(512, 1024), windowed.at(512, 500000));
}

}  // namespace
}  // namespace roofcast
