#include "planner/verdict/confidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace roofcast::test {
namespace {

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// A bracket that holds 0.0125 of probability contains each z_i; the distance 1 / sqrt(sum 1 /
/// z_i^2) changes by less than its nearest z_i. No bracket is wider than an eighth of a standard
/// deviation.
constexpr double kBracket = 0.0125;
constexpr double kWide = 0.125;

/// A world that holds below a plane: one unit of step time costs `step`, and so on.
struct Plane {
  double room = 0;
  double step = 0;
  double host = 0;
  double blocks = 0;
  double drafts = 0;
  double first = 0;
  double version = 0;

  double operator()(const Deviations& deviations) const {
    return room - step * deviations.step_time - host * deviations.per_request +
           blocks * deviations.kv_capacity + drafts * deviations.acceptance -
           first * deviations.first_token - version * deviations.version;
  }
};

/// As predicted it has its whole room.
Confidence confidence_of_plane(const Plane& plane) { return confidence_within(plane, plane.room); }
Confidence confidence_for_plane(const Plane& plane, double least) {
  return confidence_for(plane, plane.room, least);
}

// The boundary a.z = c has the distance c / |a| from the middle; the probability is exact.
TEST(Confidence, OfABoundaryThatIsAPlaneIsTheNormalDistributionOfItsDistance) {
  const Confidence confidence =
      confidence_of_plane(Plane{.room = 2, .step = 1, .host = 0.8, .blocks = 0.6});
  EXPECT_TRUE(confidence.holds);
  EXPECT_NEAR(confidence.probability, normal_cdf(2 / std::sqrt(1 + 0.64 + 0.36)), kBracket);
  ASSERT_EQ(confidence.causes.size(), 6U);
  EXPECT_NEAR(confidence.causes[0].flips_at.value(), 2, kWide);
  EXPECT_NEAR(confidence.causes[2].flips_at.value(), 2.5, kWide);
  EXPECT_NEAR(confidence.causes[3].flips_at.value(), -2 / 0.6, kWide);  // fewer blocks
}

TEST(Confidence, OfALoadThatFailsAsPredictedIsTheOtherSideOfThePlane) {
  const Confidence confidence =
      confidence_of_plane(Plane{.room = -1.5, .step = 1, .host = 0, .blocks = 1});
  EXPECT_FALSE(confidence.holds);
  EXPECT_NEAR(confidence.probability, normal_cdf(-1.5 / std::sqrt(2.0)), kBracket);
  EXPECT_NEAR(confidence.causes[0].flips_at.value(), -1.5, 0.1);
  EXPECT_FALSE(confidence.causes[2].flips_at);
  EXPECT_NEAR(confidence.causes[3].flips_at.value(), 1.5, 0.1);
}

// Phi(1.5 / sqrt(1 + 0.25)), with fewer accepted drafts on the harmful side.
TEST(Confidence, CountsTheAcceptanceOfDrafts) {
  const Confidence confidence = confidence_of_plane({.room = 1.5, .step = 1, .drafts = 0.5});
  EXPECT_NEAR(confidence.probability, normal_cdf(1.5 / std::sqrt(1.25)), kBracket);
  EXPECT_EQ(confidence.causes[4].name, "acceptance of drafts");
  EXPECT_NEAR(confidence.causes[4].flips_at.value(), -3, kWide);
}

// Phi(2 / sqrt(1 + 4)), with later first tokens on the harmful side.
TEST(Confidence, CountsFirstTokens) {
  const Confidence confidence = confidence_of_plane({.room = 2, .step = 1, .first = 2});
  EXPECT_NEAR(confidence.probability, normal_cdf(2 / std::sqrt(5.0)), kBracket);
  EXPECT_EQ(confidence.causes[1].name, "first tokens");
  EXPECT_NEAR(confidence.causes[1].flips_at.value(), 1, kWide);
}

// Phi(2 / sqrt(1 + 1.5^2)), with a slower version on the harmful side.
TEST(Confidence, CountsTheEnginesVersion) {
  const Confidence confidence = confidence_of_plane({.room = 2, .step = 1, .version = 1.5});
  EXPECT_NEAR(confidence.probability, normal_cdf(2 / std::sqrt(3.25)), kBracket);
  EXPECT_EQ(confidence.causes[5].name, "the engine's version");
  EXPECT_NEAR(confidence.causes[5].flips_at.value(), 2 / 1.5, kWide);
}

TEST(Confidence, IsNearOneWhereNoErrorTurnsTheVerdict) {
  const Confidence confidence = confidence_of_plane(Plane{.room = 100, .step = 1});
  // Nothing turns within 4 standard deviations: at least Phi(4) = 0.99997.
  EXPECT_NEAR(confidence.probability, 1, 4e-5);
  for (const Cause& cause : confidence.causes) EXPECT_FALSE(cause.flips_at);
  EXPECT_EQ(confidence.simulations, 2);  // the farthest of step time, and of most others at once
}

// First tokens are looked at without simulating: what they do does not make the others matter.
TEST(Confidence, FirstTokensTakeNoSimulation) {
  const Confidence confidence = confidence_of_plane({.room = 100, .step = 1, .first = 100});
  EXPECT_NEAR(confidence.probability, normal_cdf(1), kBracket);
  EXPECT_EQ(confidence.simulations, 2);  // step time, and host, blocks and drafts at once
}

// First tokens alone turn it at one standard deviation, below the quantile of 0.9, 1.2816: nothing
// else is asked, and Phi(1) is an upper bound of the probability of all causes, Phi(2 / sqrt(5)).
TEST(Confidence, FirstTokensRuleOutALeastProbabilityWithoutASimulation) {
  const Plane plane{.room = 2, .step = 1, .first = 2};
  int others = 0;
  const DeviatingMargin counting = [&](const Deviations& deviations) {
    if (deviations != Deviations{.first_token = deviations.first_token}) ++others;
    return plane(deviations);
  };
  const Confidence confidence = confidence_for(counting, plane.room, 0.9);
  EXPECT_NEAR(confidence.probability, normal_cdf(1), kBracket);
  EXPECT_GT(confidence.probability, normal_cdf(2 / std::sqrt(5.0)) + kBracket);
  EXPECT_EQ(others, 0);
  EXPECT_EQ(confidence.simulations, 0);
}

TEST(Confidence, IsOneHalfOnTheBoundary) {
  EXPECT_NEAR(confidence_of_plane(Plane{.room = 0, .step = 1}).probability, 0.5, kBracket);
}

TEST(Confidence, TakesFewSimulations) {
  // Bisection of 4 standard deviations to 1/32 takes 7 after the farthest, ITP at most one more;
  // the other causes begin with one that has both.
  const double jump = 1.3;
  const DeviatingMargin steps = [&](const Deviations& deviations) {
    return deviations.step_time <= jump && deviations.per_request <= jump &&
                   deviations.kv_capacity >= -jump
               ? 1.0
               : -1.0;
  };
  const Confidence of_a_jump = confidence_within(steps, 1);
  EXPECT_LE(of_a_jump.simulations, 1 + 3 * (1 + 7 + 1));
  EXPECT_NEAR(of_a_jump.causes[0].flips_at.value(), jump, 0.1);
  // Where the margin shows the way fewer than half of that.
  const Confidence of_a_plane = confidence_of_plane({.room = 0.2, .step = 0.1});
  EXPECT_LE(of_a_plane.simulations, 1 + 1 + 4);
}

TEST(Confidence, FarAboveALeastProbabilityTakesOneMoreSimulation) {
  // All causes off by 1.2816 use 1.2816 x 1.5 = 1.92 of the room of 2; Phi(2 / sqrt(1.25)) = 0.963.
  const Plane plane{.room = 2, .step = 1, .host = 0.5};
  const Confidence confidence = confidence_for_plane(plane, 0.9);
  EXPECT_EQ(confidence.probability, 0.9);
  EXPECT_EQ(confidence.simulations, 1);
  EXPECT_GT(confidence_of_plane(plane).probability, 0.9);
}

TEST(Confidence, AroundALeastProbabilityIsTheSame) {
  // 1.2816 x 2 is more than the room of 2; Phi(2 / sqrt(2)) = 0.921.
  const Plane plane{.room = 2, .step = 1, .host = 1};
  EXPECT_NEAR(confidence_for_plane(plane, 0.9).probability, normal_cdf(std::sqrt(2)), kBracket);
}

TEST(Confidence, BelowALeastProbabilityComesFromStepTimeAlone) {
  // Phi(1) = 0.841 by step time alone, Phi(1 / sqrt(2)) = 0.76 with host work: an upper bound.
  const Confidence confidence = confidence_for_plane(Plane{.room = 1, .step = 1, .host = 1}, 0.9);
  EXPECT_TRUE(confidence.holds);
  EXPECT_NEAR(confidence.probability, normal_cdf(1), kBracket);
  EXPECT_LT(confidence.simulations, 10);
}

TEST(Confidence, ForALeastProbabilityOfWhatFailsIsTheSame) {
  const Plane plane{.room = -1, .step = 1};
  EXPECT_EQ(confidence_for_plane(plane, 0.9).probability, confidence_of_plane(plane).probability);
}

}  // namespace
}  // namespace roofcast::test
