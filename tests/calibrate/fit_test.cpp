#include "calibrate/fit.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace roofcast {
namespace {

TEST(NonNegativeFit, IsThePlainSolutionWhereThatIsPositive) {
  // x = 1, y = 2 satisfies all three rows exactly.
  const std::vector<double> rows = {1, 0, 0, 1, 1, 1};
  const std::vector<double> targets = {1, 2, 3};
  const std::vector<double> fitted = fit_non_negative(rows, 2, targets);
  EXPECT_NEAR(fitted[0], 1.0, 1e-12);
  EXPECT_NEAR(fitted[1], 2.0, 1e-12);
}

TEST(NonNegativeFit, ATermThatWouldBeNegativeIsZero) {
  const std::vector<double> rows = {1, 0, 0, 1};
  const std::vector<double> targets = {3, -1};
  const std::vector<double> fitted = fit_non_negative(rows, 2, targets);
  EXPECT_NEAR(fitted[0], 3.0, 1e-12);
  EXPECT_EQ(fitted[1], 0.0);
}

TEST(NonNegativeFit, TheOtherTermsMakeUpForTheOneAtZero) {
  // Unconstrained: x + y = 1, x + 1.01 y = 0.9 gives y = -10, x = 11. With y = 0 the best x is the
  // mean of the targets, 0.95 (squared error 0.005); with x = 0 the error is 0.006.
  const std::vector<double> rows = {1, 1, 1, 1.01};
  const std::vector<double> targets = {1, 0.9};
  const std::vector<double> fitted = fit_non_negative(rows, 2, targets);
  EXPECT_NEAR(fitted[0], 0.95, 1e-9);
  EXPECT_EQ(fitted[1], 0.0);
}

TEST(NonNegativeFit, WeightsMultiplyTheirRows) {
  // Minimises (x - 0)^2 + 9 (x - 1)^2: x = 9 / 10.
  const std::vector<double> rows = {1, 1};
  const std::vector<double> targets = {0, 1};
  const std::vector<double> weights = {1, 3};
  EXPECT_NEAR(fit_non_negative(rows, 1, targets, weights)[0], 0.9, 1e-12);
}

TEST(NonNegativeFit, TermsOfVeryDifferentSizeAreFittedAlike) {
  // 2e-9 * bytes + 5 * count, as when bytes and counts are in one fit.
  const std::vector<double> rows = {1e9, 1, 4e9, 1, 9e9, 2};
  const std::vector<double> targets = {7, 13, 28};
  const std::vector<double> fitted = fit_non_negative(rows, 2, targets);
  EXPECT_NEAR(fitted[0], 2e-9, 1e-18);
  EXPECT_NEAR(fitted[1], 5.0, 1e-9);
}

TEST(NonNegativeFit, AColumnOfZerosGetsNothing) {
  const std::vector<double> rows = {1, 0, 1, 0};
  const std::vector<double> targets = {2, 4};
  const std::vector<double> fitted = fit_non_negative(rows, 2, targets);
  EXPECT_NEAR(fitted[0], 3.0, 1e-12);
  EXPECT_EQ(fitted[1], 0.0);
}

}  // namespace
}  // namespace roofcast
