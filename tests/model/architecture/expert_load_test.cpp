// Uneven picks of experts: shares of a power law, and the busiest rank.
#include "model/architecture/expert_load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace roofcast {
namespace {

MoeFfn experts_of(std::int64_t count, std::int64_t picks) {
  return {.experts = count, .experts_per_token = picks, .expert_intermediate = 2048};
}

Parallelism over(int ranks, int redundant = 0) {
  return {.data = ranks, .expert_parallel = true, .redundant_experts = redundant};
}

double sum(const std::vector<double>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

TEST(ExpertShares, AreAlikeWithoutAnExponent) {
  for (const double share : expert_shares(8, 2, 0)) EXPECT_DOUBLE_EQ(share, 1.0 / 8);
}

TEST(ExpertShares, SumToOneAndRise) {
  for (const double exponent : {0.5, 1.0, 1.01, 1.2, 2.0, 5.0}) {
    const std::vector<double> shares = expert_shares(256, 8, exponent);
    EXPECT_NEAR(sum(shares), 1.0, 1e-9) << exponent;
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end())) << exponent;
  }
}

// The quantiles at 1/4 and 3/4 of x^-2 between 1 and 0.8 x 8192 = 6553.6: 1 / (1 - u (1 -
// 1/6553.6)), so 1.3333 and 3.9982 of 5.3314: 0.2501 and 0.7499. With one pick no share is bounded.
TEST(ExpertShares, OfTwoExpertsAreTheQuartilesOfTheLaw) {
  const std::vector<double> shares = expert_shares(2, 1, 2.0);
  EXPECT_NEAR(shares[0], 0.2501, 1e-4);
  EXPECT_NEAR(shares[1], 0.7499, 1e-4);
}

// A token picks an expert once: of two picks none can have more than half.
TEST(ExpertShares, NoneExceedsOnePickOfEachToken) {
  for (const double exponent : {1.2, 2.0, 5.0}) {
    const std::vector<double> shares = expert_shares(8, 2, exponent);
    EXPECT_LE(shares.back(), 0.5 + 1e-12) << exponent;
    EXPECT_NEAR(sum(shares), 1.0, 1e-9) << exponent;
  }
}

TEST(BusiestRank, IsTheMeanOneWhereNothingIsUneven) {
  EXPECT_EQ(busiest_rank_load(experts_of(256, 8), over(8), 0, false), 1.0);
  EXPECT_EQ(busiest_rank_load(experts_of(256, 8), {.data = 8}, 1.2, false),
            1.0);  // no whole experts
}

// Against 4,000 other placements, within 3 %.
TEST(BusiestRank, IsThatOfRandomPlacements) {
  std::mt19937 random(7);
  for (const int ranks : {4, 8, 32}) {
    std::vector<double> shares = expert_shares(256, 8, 1.2);
    double mean = 0;
    constexpr int kDraws = 4000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::shuffle(shares.begin(), shares.end(), random);
      double largest = 0;
      const auto each = static_cast<std::ptrdiff_t>(256 / ranks);
      for (auto first = shares.begin(); first != shares.end(); first += each) {
        largest = std::max(largest, std::accumulate(first, first + each, 0.0));
      }
      mean += largest * ranks / kDraws;
    }
    const double load = busiest_rank_load(experts_of(256, 8), over(ranks), 1.2, false);
    EXPECT_NEAR(load / mean, 1.0, 0.03) << ranks << " ranks: " << mean;
  }
}

TEST(BusiestRank, DoesLessWhenExpertsAreMovedAndCopied) {
  const MoeFfn experts = experts_of(256, 8);
  const double by_chance = busiest_rank_load(experts, over(32), 1.2, false);
  const double moved = busiest_rank_load(experts, over(32), 1.2, true);
  const double copied = busiest_rank_load(experts, over(32, 32), 1.2, true);
  EXPECT_GT(by_chance, moved);
  EXPECT_GE(moved, copied);
  EXPECT_LT(copied, 1.1);
  EXPECT_GE(copied, 1.0);
}

}  // namespace
}  // namespace roofcast
