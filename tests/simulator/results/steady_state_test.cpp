#include "simulator/results/steady_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/paired_difference.hpp"

namespace roofcast::test {
namespace {

using Series = std::vector<double>;

TEST(WarmUp, EndsWhereTheLevelIsReached) {
  // 50 values of 10, then 450 of 0: leaving out the first 10 batches makes the rest constant.
  Series values(500, 0.0);
  std::fill_n(values.begin(), 50, 10.0);
  EXPECT_EQ(warm_up_of(values), 50);
}

TEST(WarmUp, OfAConstantSeriesIsNone) { EXPECT_EQ(warm_up_of(Series(1000, 3.0)), 0); }

TEST(WarmUp, IsAtMostHalf) {
  // A ramp has no steady state: the minimum lies at the end.
  Series values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  EXPECT_EQ(warm_up_of(values), 500);
}

TEST(WarmUp, OfTooFewValuesIsNone) { EXPECT_EQ(warm_up_of(Series{9, 1, 1}), 0); }

TEST(ShareInterval, ContainsTheShareOfIndependentValues) {
  // 99 % intervals of 300 samples: fewer than 291 hold the truth with probability
  // P(Binomial(300, 0.01) > 9) = 0.1 %.
  std::mt19937_64 random(1);
  std::bernoulli_distribution draw(0.9);
  int contained = 0;
  for (int sample = 0; sample < 300; ++sample) {
    std::vector<std::uint8_t> values(2000);
    for (auto& value : values) value = draw(random) ? 1 : 0;
    const auto interval = share_interval(values);
    if (interval->low <= 0.9 && 0.9 <= interval->high) ++contained;
  }
  EXPECT_GE(contained, 291);
}

TEST(ShareInterval, OfEqualBatchesIsTheirShare) {
  // Every batch of 10 holds nine ones: no variance between batches.
  std::vector<std::uint8_t> values;
  for (int i = 0; i < 200; ++i) values.push_back(i % 10 == 9 ? 0 : 1);
  EXPECT_DOUBLE_EQ(share_interval(values)->low, 0.9);
  EXPECT_DOUBLE_EQ(share_interval(values)->high, 0.9);
}

TEST(ShareInterval, OfOnesAloneLeavesRoomForWhatChanceMayHide) {
  // 0.005^(1 / 1000) = exp(-5.298 / 1000) = 0.99472.
  const std::vector<std::uint8_t> values(1000, 1);
  EXPECT_NEAR(share_interval(values)->low, 0.99472, 1e-5);
  EXPECT_DOUBLE_EQ(share_interval(values)->high, 1);
}

TEST(ShareInterval, WidensIfNeighbouringBatchesAreAlike) {
  // Ten batches of 0 after ten of 1 have a lag-1 correlation of 0.85: of 19 products one is
  // -1/4, 18 are 1/4, and the sum of squares is 20/4. The variance of the mean, 20/4/19/20, is
  // multiplied by 1.85 / 0.15.
  std::vector<std::uint8_t> values(200, 0);
  std::fill_n(values.begin(), 100, 1);
  const double half = student_t(19, 0.99) * std::sqrt(20. / 4 / 19 / 20 * 1.85 / 0.15);
  EXPECT_GT(half, 0.5);
  EXPECT_DOUBLE_EQ(share_interval(values)->low, 0);
  EXPECT_DOUBLE_EQ(share_interval(values)->high, 1);
}

TEST(ShareInterval, NeedsFiveValuesABatch) {
  EXPECT_FALSE(share_interval(std::vector<std::uint8_t>(99, 1)));
  EXPECT_TRUE(share_interval(std::vector<std::uint8_t>(100, 1)));
}

TEST(PercentileInterval, ContainsThePercentileOfIndependentValues) {
  // Exponential with mean 1: p95 = -ln 0.05 = 2.9957. Of 300 intervals more than
  // 12 miss the truth with probability 0.002 %.
  std::mt19937_64 random(2);
  std::exponential_distribution<double> draw(1);
  int contained = 0;
  for (int sample = 0; sample < 300; ++sample) {
    Series values(10'000);
    for (double& value : values) value = draw(random);
    const auto interval = percentile_interval(values, 95);
    if (interval->low <= 2.9957 && 2.9957 <= interval->high) ++contained;
  }
  EXPECT_GE(contained, 288);
}

TEST(PercentileInterval, NeedsTenValuesBeyondInEveryBatch) {
  EXPECT_FALSE(percentile_interval(Series(3999, 1.0), 95));
  EXPECT_TRUE(percentile_interval(Series(4000, 1.0), 95));
  EXPECT_FALSE(percentile_interval(Series(4000, 1.0), 99));
}

/// kLevelSteps + 1 levels.
Series walk(double drift, double deviation, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> step(drift, deviation);
  Series levels = {0};
  while (levels.size() <= kLevelSteps) levels.push_back(levels.back() + step(random));
  return levels;
}

TEST(BacklogGrowth, OfADriftingWalkIsItsDrift) {
  // 100 steps of 10 +- 3 in which 5,000 arrive: 1,000 / 5,000 = 20 % +- 0.6 %.
  const BacklogGrowth growth = backlog_growth(walk(10, 3, 1), 5000);
  EXPECT_NEAR(growth.share, 0.2, 0.02);
  EXPECT_FALSE(growth.settles);
  EXPECT_GT(growth.interval.low, 0.15);
  EXPECT_LT(growth.interval.high, 0.25);
}

TEST(BacklogGrowth, OfAWalkWithoutDriftIsRarelyCalledGrowth) {
  // The lower end is above zero in 0.5 % of cases: of 400 more than 7 with probability 0.1 %.
  int grows = 0;
  int settles = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const BacklogGrowth growth = backlog_growth(walk(0, 3, seed), 5000);
    if (growth.interval.low > 0) ++grows;
    if (growth.settles) ++settles;
  }
  EXPECT_LE(grows, 7);
  EXPECT_LE(settles, 12);  // 1 %: more than 12 with probability 0.02 %
}

TEST(BacklogGrowth, OfALevelThatReturnsIsBoundedByItsDeviation) {
  // Independent levels of 50 +- 5: the difference between two means of 33, 68 % of the time apart,
  // is within 2.861 sqrt(2) 5 / sqrt(33) / 0.68 = 5.2 of what it came to, of 5,000 arrivals 0.1 %.
  // The correlation of neighbours, 0 +- 0.1, counts where chance has it above 0.
  std::mt19937_64 random(3);
  std::normal_distribution<double> level(50, 5);
  Series levels(kLevelSteps + 1);
  for (double& one : levels) one = level(random);
  const BacklogGrowth growth = backlog_growth(levels, 5000);
  EXPECT_TRUE(growth.settles);
  EXPECT_NEAR(growth.interval.high - growth.interval.low, 2 * 5.2 / 5000, 0.3 * 2 * 5.2 / 5000);
}

TEST(BacklogGrowth, OfALevelThatReturnsIsWithinItsErrorOfNothing) {
  // Levels that keep half of their distance to the mean: each 99 % interval holds 0, of 400 more
  // than 12 do not with probability 0.05 %.
  int misses = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> push(0, 5);
    Series levels = {0};
    while (levels.size() <= kLevelSteps) levels.push_back(levels.back() / 2 + push(random));
    const BacklogGrowth growth = backlog_growth(levels, 5000);
    if (!growth.settles) continue;
    if (growth.interval.low > 0 || growth.interval.high < 0) ++misses;
  }
  EXPECT_LE(misses, 12);
}

TEST(BacklogGrowth, OfNothingIsNothing) {
  const BacklogGrowth growth = backlog_growth(Series(kLevelSteps + 1, 0.0), 100);
  EXPECT_TRUE(growth.settles);
  EXPECT_EQ(growth.interval.low, 0);
  EXPECT_EQ(growth.interval.high, 0);
}

}  // namespace
}  // namespace roofcast::test
