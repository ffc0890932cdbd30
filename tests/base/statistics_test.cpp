#include "base/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "base/distribution.hpp"

namespace roofcast {
namespace {

TEST(Statistics, QuantilesLieBetweenNeighboursInRank) {
  const std::vector<double> values{10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 25);     // rank 1.5
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 17.5);  // rank 0.75
}

TEST(Statistics, QuantilesAreThoseOfNumpyAndOfRsTypeSeven) {
  // numpy.percentile([15, 20, 35, 40, 50], 40): rank 1.6, so 20 + 0.6 * 15. Nearest rank says 20.
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{15, 20, 35, 40, 50}, 40), 29);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{3}, 0.9), 3);
}

TEST(Statistics, ARankLiesBetweenTwoUnlessItIsWhole) {
  const QuantileRank between = quantile_rank(0.75, 4);  // 2.25
  EXPECT_EQ(between.below, 2);
  EXPECT_EQ(between.above, 3);
  EXPECT_DOUBLE_EQ(between.share, 0.25);
  const QuantileRank whole = quantile_rank(0.5, 5);
  EXPECT_EQ(whole.below, 2);
  EXPECT_EQ(whole.above, 2);
}

TEST(Statistics, AnIntervalEndsAtTheNinthDecileOfTheNormalDistribution) {
  // erfc(z / sqrt 2) is what both tails hold. z has four decimals: 5e-5 of it are 2 * 0.1755 *
  // 5e-5.
  EXPECT_NEAR(std::erfc(kIntervalDeviations / std::sqrt(2)), 1 - kIntervalShare, 2e-5);
}

TEST(Statistics, TheMedianDoesNotDependOnOrder) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
}

TEST(Statistics, TheDeviationIsRelativeToTheMean) {
  // Mean 4, squares 4 + 0 + 4 = 8, over n - 1 = 2: deviation 2, half of the mean.
  EXPECT_DOUBLE_EQ(relative_deviation(std::vector<double>{2, 4, 6}), 0.5);
  EXPECT_DOUBLE_EQ(relative_deviation(std::vector<double>{3, 3, 3}), 0);
  EXPECT_DOUBLE_EQ(relative_deviation(std::vector<double>{3}), 0);
}

TEST(Statistics, ASummaryHasMedianQuartilesAndTails) {
  // 1 to 11: rank q * 10, so each tenth is a whole rank.
  const Statistics s = summarise(std::vector<double>{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(s.count, 11u);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.p10, 2);
  EXPECT_DOUBLE_EQ(s.lower_quartile, 3.5);
  EXPECT_DOUBLE_EQ(s.median, 6);
  EXPECT_DOUBLE_EQ(s.upper_quartile, 8.5);
  EXPECT_DOUBLE_EQ(s.p90, 10);
  EXPECT_DOUBLE_EQ(s.relative_spread(), 4.0 / 6);  // (10 - 2) / 2 over 6
}

TEST(Statistics, TwoModesAreFlagged) {
  // p10 and p90 are the two modes themselves: 1.2 / 1.0 is above 1.15, 1.1 / 1.0 is not.
  std::vector<double> far(20, 1.0);
  std::vector<double> near(20, 1.0);
  for (std::size_t i = 0; i < 10; ++i) {
    far[i] = 1.2;
    near[i] = 1.1;
  }
  EXPECT_TRUE(summarise(far).bimodal);
  EXPECT_FALSE(summarise(near).bimodal);
}

TEST(Statistics, AFewOutliersAreNoSecondMode) {
  std::vector<double> values(20, 1.0);
  values[7] = 5.0;  // one of twenty: p90 is rank 17.1, still 1
  EXPECT_FALSE(summarise(values).bimodal);
}

TEST(Statistics, SizesOfErrorsIgnoreTheirSign) {
  // 0.1, 0.2, 0.3: mean 0.2, median 0.2, p90 at rank 1.8: 0.2 + 0.8 x 0.1.
  const std::vector<double> errors{-0.3, 0.1, 0.2};
  const ErrorSizes sizes = sizes_of(errors);
  EXPECT_DOUBLE_EQ(sizes.mean, 0.2);
  EXPECT_DOUBLE_EQ(sizes.median, 0.2);
  EXPECT_DOUBLE_EQ(sizes.p90, 0.28);
}

TEST(Distribution, HasEveryStatisticOfItsSamples) {
  // 0, 1 ... 100: percentile p is p.
  std::vector<double> ascending;
  for (int i = 0; i <= 100; ++i) ascending.push_back(i);
  const Distribution distribution = distribution_of(ascending);
  EXPECT_EQ(distribution.count, 101);
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    const std::string_view name = statistic.name;
    const double expected = name == "mean"  ? 50
                            : name == "min" ? 0
                            : name == "max" ? 100
                                            : *statistic.percent;
    EXPECT_DOUBLE_EQ(distribution.*statistic.value, expected) << name;
  }
}

}  // namespace
}  // namespace roofcast
