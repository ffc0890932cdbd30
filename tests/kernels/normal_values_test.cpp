#include "kernels/normal_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <vector>

#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels {
namespace {

/// Sums of powers over `pairs` pairs, and of the products within a pair.
struct Moments {
  double mean = 0, square = 0, cube = 0, fourth = 0, product = 0;
};

Moments moments_of(std::uint64_t seed, int pairs) {
  Moments sum;
  for (int p = 0; p < pairs; ++p) {
    const NormalPair pair = normal_pair(seed, static_cast<std::uint64_t>(p));
    for (const double x : {static_cast<double>(pair.first), static_cast<double>(pair.second)}) {
      sum.mean += x / (2 * pairs);
      sum.square += x * x / (2 * pairs);
      sum.cube += x * x * x / (2 * pairs);
      sum.fourth += x * x * x * x / (2 * pairs);
    }
    sum.product += static_cast<double>(pair.first) * static_cast<double>(pair.second) / pairs;
  }
  return sum;
}

TEST(NormalValues, HaveTheMomentsOfANormalDistribution) {
  constexpr int kPairs = 500000;
  // Standard errors over n = 10^6 values: of x 1 / sqrt(n), of x^2 sqrt(2 / n), of x^3
  // sqrt(15 / n), of x^4 sqrt(96 / n), of the product of a pair 1 / sqrt(n / 2). Six of them are
  // passed by chance once in 5 10^8 runs.
  const double unit = 6 / std::sqrt(2.0 * kPairs);
  const Moments moments = moments_of(test::fresh_seed(), kPairs);
  EXPECT_NEAR(moments.mean, 0, unit);
  EXPECT_NEAR(moments.square, 1, unit * std::sqrt(2.0));
  EXPECT_NEAR(moments.cube, 0, unit * std::sqrt(15.0));
  EXPECT_NEAR(moments.fourth, 3, unit * std::sqrt(96.0));
  EXPECT_NEAR(moments.product, 0, unit * std::sqrt(2.0));
}

TEST(NormalValues, AreThoseOfBoxAndMuller) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  const std::uint64_t seed = test::fresh_seed();
  for (std::uint64_t p = 0; p < 100000; ++p) {
    const std::uint64_t bits = normal_detail::mix(normal_detail::mix(seed + kStep) + p * kStep);
    const double u = static_cast<double>((bits >> 40) + 1) * 0x1p-24;
    const double turn =
        2 * std::numbers::pi * static_cast<double>((bits >> 8) & 0xffffff) * 0x1p-24;
    const double radius = std::sqrt(-2 * std::log(u));
    const NormalPair pair = normal_pair(seed, p);
    // The polynomials and a dozen roundings, each 2^-24, on values of the size of the radius.
    const double allowed = radius * 16 * 0x1p-24;
    ASSERT_NEAR(pair.first, radius * std::cos(turn), allowed) << p;
    ASSERT_NEAR(pair.second, radius * std::sin(turn), allowed) << p;
  }
}

TEST(NormalValues, AnswerAtTheEndsOfTheirRange) {
  // The smallest u is 2^-24 and the largest 1, whose logarithm is 0.
  EXPECT_NEAR(normal_detail::logarithm(0x1p-24F), -24 * std::numbers::ln2, 1e-5);
  EXPECT_EQ(normal_detail::logarithm(1), 0);
  // Eighths of a turn, where the nearest quarter changes.
  for (int eighth = 0; eighth < 8; ++eighth) {
    const NormalPair turn = normal_detail::cosine_and_sine(static_cast<float>(eighth) / 8);
    EXPECT_NEAR(turn.first, std::cos(eighth * std::numbers::pi / 4), 0x1p-22) << eighth;
    EXPECT_NEAR(turn.second, std::sin(eighth * std::numbers::pi / 4), 0x1p-22) << eighth;
  }
}

TEST(NormalValues, DifferBetweenStreamsAndWithinOne) {
  std::set<float> values;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t p = 0; p < 100; ++p) values.insert(normal_pair(seed, p).first);
  }
  // 1000 values out of about 2^24: 0.03 collisions are expected.
  EXPECT_GE(values.size(), 998U);
}

}  // namespace
}  // namespace roofcast::kernels
