#include "base/units.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

TEST(Units, BytesOverBandwidthIsTime) {
  // 3.35 TB at 3.35 TB/s take one second.
  EXPECT_DOUBLE_EQ((Bytes{3.35e12} / BytesPerSecond{3.35e12}).value, 1.0);
}

TEST(Units, ComputeOverMemoryIsTheRidgePoint) {
  // A100: 312 TFLOP/s over 2,000 GB/s is 156 FLOP/byte.
  EXPECT_DOUBLE_EQ((FlopsPerSecond{312e12} / BytesPerSecond{2000e9}).value, 156.0);
}

TEST(Units, LikeQuantitiesAddAndCompare) {
  EXPECT_LT(Seconds{1} + Seconds{2}, Seconds{3.5});
  EXPECT_DOUBLE_EQ(Seconds{6} / Seconds{4}, 1.5);
}

}  // namespace
}  // namespace roofcast
