#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/exponential.hpp"

namespace roofcast::kernels::cpu {
namespace {

TEST(Exponential, IsOffByTwoUnitsInTheLastPlaceAtMost) {
  // A unit in the last place is 2^-23 to 2^-24 of the value: 2 of the smaller ones are 2^-23.
  double largest = 0;
  for (int i = -64 * 4096; i <= 64 * 4096; ++i) {
    const float x = static_cast<float>(i) / 4096;
    const double exact = std::exp(static_cast<double>(x));
    largest = std::max(largest, std::abs(exponential(x) - exact) / exact);
  }
  EXPECT_LE(largest, 0x1p-23);
}

TEST(Exponential, IsExactAtZero) { EXPECT_EQ(exponential(0), 1); }

TEST(Exponential, EndsInNextToNothingAndInALargeNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(-kInfinity), exponential(-64));
  EXPECT_EQ(exponential(-1e30F), exponential(-64));
  EXPECT_LT(exponential(-kInfinity), 2e-28F);
  EXPECT_EQ(exponential(kInfinity), exponential(64));
  EXPECT_GT(exponential(kInfinity), 6e27F);
  EXPECT_LT(exponential(kInfinity), kInfinity);
}

}  // namespace
}  // namespace roofcast::kernels::cpu
