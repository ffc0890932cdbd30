#include "planner/capacity/confidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace roofcast::test {
namespace {

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// Bisection ends in an interval of 1/32 and takes its middle, so each z_i is known to within 1/64.
/// The distance 1 / sqrt(sum 1 / z_i^2) changes by less than its nearest z_i, and the distribution
/// function by at most 0.4 of that.
constexpr double kBisection = 0.4 / 64;

/// A world that holds below a plane: one unit of step time costs `step`, and so on.
struct Plane {
  double room = 0;
  double step = 0;
  double host = 0;
  double blocks = 0;

  bool operator()(const Deviations& deviations) const {
    return step * deviations.step_time + host * deviations.per_request -
               blocks * deviations.kv_capacity <=
           room;
  }
};

// The boundary a.z = c has the distance c / |a| from the middle; the probability is exact.
TEST(Confidence, OfABoundaryThatIsAPlaneIsTheNormalDistributionOfItsDistance) {
  const Confidence confidence =
      confidence_of(Plane{.room = 2, .step = 1, .host = 0.8, .blocks = 0.6});
  EXPECT_TRUE(confidence.holds);
  EXPECT_NEAR(confidence.probability, normal_cdf(2 / std::sqrt(1 + 0.64 + 0.36)), kBisection);
  ASSERT_EQ(confidence.causes.size(), 3U);
  EXPECT_NEAR(confidence.causes[0].flips_at.value(), 2, 1. / 64);
  EXPECT_NEAR(confidence.causes[1].flips_at.value(), 2.5, 1. / 64);
  EXPECT_NEAR(confidence.causes[2].flips_at.value(), -2 / 0.6, 1. / 64);  // fewer blocks
}

TEST(Confidence, OfALoadThatFailsAsPredictedIsTheOtherSideOfThePlane) {
  const Confidence confidence =
      confidence_of(Plane{.room = -1.5, .step = 1, .host = 0, .blocks = 1});
  EXPECT_FALSE(confidence.holds);
  EXPECT_NEAR(confidence.probability, normal_cdf(-1.5 / std::sqrt(2.0)), kBisection);
  EXPECT_NEAR(confidence.causes[0].flips_at.value(), -1.5, 1. / 64);
  EXPECT_FALSE(confidence.causes[1].flips_at);
  EXPECT_NEAR(confidence.causes[2].flips_at.value(), 1.5, 1. / 64);
}

TEST(Confidence, IsNearOneWhereNoErrorTurnsTheVerdict) {
  const Confidence confidence = confidence_of(Plane{.room = 100, .step = 1});
  // Nothing turns within 4 standard deviations: at least Phi(4) = 0.99997.
  EXPECT_NEAR(confidence.probability, 1, 4e-5);
  for (const Cause& cause : confidence.causes) EXPECT_FALSE(cause.flips_at);
  EXPECT_EQ(confidence.simulations, 4);  // as predicted, and the farthest of each cause
}

TEST(Confidence, IsOneHalfOnTheBoundary) {
  EXPECT_NEAR(confidence_of(Plane{.room = 0, .step = 1}).probability, 0.5, kBisection);
}

TEST(Confidence, TakesFewSimulations) {
  // Each cause: the farthest, then 4 / 2^7 = 1/32.
  EXPECT_EQ(confidence_of(Plane{.room = 2, .step = 1, .host = 1, .blocks = 1}).simulations,
            1 + 3 * (1 + 7));
}

TEST(Confidence, FarAboveALeastProbabilityTakesOneMoreSimulation) {
  // All causes off by 1.2816 use 1.2816 x 1.5 = 1.92 of the room of 2; Phi(2 / sqrt(1.25)) = 0.963.
  const Plane plane{.room = 2, .step = 1, .host = 0.5};
  const Confidence confidence = confidence_for(plane, 0.9);
  EXPECT_EQ(confidence.probability, 0.9);
  EXPECT_EQ(confidence.simulations, 2);
  EXPECT_GT(confidence_of(plane).probability, 0.9);
}

TEST(Confidence, AroundALeastProbabilityIsTheSame) {
  // 1.2816 x 2 is more than the room of 2; Phi(2 / sqrt(2)) = 0.921.
  const Plane plane{.room = 2, .step = 1, .host = 1};
  EXPECT_EQ(confidence_for(plane, 0.9).probability, confidence_of(plane).probability);
}

TEST(Confidence, BelowALeastProbabilityComesFromStepTimeAlone) {
  // Phi(1) = 0.841 by step time alone, Phi(1 / sqrt(2)) = 0.76 with host work: an upper bound.
  const Confidence confidence = confidence_for(Plane{.room = 1, .step = 1, .host = 1}, 0.9);
  EXPECT_TRUE(confidence.holds);
  EXPECT_NEAR(confidence.probability, normal_cdf(1), kBisection);
  EXPECT_LT(confidence.simulations, 10);
}

TEST(Confidence, ForALeastProbabilityOfWhatFailsIsTheSame) {
  const Plane plane{.room = -1, .step = 1};
  EXPECT_EQ(confidence_for(plane, 0.9).probability, confidence_of(plane).probability);
}

}  // namespace
}  // namespace roofcast::test
