#include "simulator/cluster/autoscaler.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

Autoscaling one_to_ten(double target) {
  return {.min_replicas = 1, .max_replicas = 10, .target = target};
}

TEST(Autoscaler, WantsTheSumOverTheTargetRoundedUp) {
  Autoscaler scaler(one_to_ten(5));
  EXPECT_EQ(scaler.wanted(0, 2, 21), 5);  // 21 / 5 = 4.2
  EXPECT_EQ(scaler.wanted(kSecond, 5, 100), 10);
  EXPECT_EQ(scaler.wanted(2 * kSecond, 5, 1e30), 10);
}

TEST(Autoscaler, LeavesWhatIsWithinTenPercent) {
  Autoscaler scaler(one_to_ten(5));
  EXPECT_EQ(scaler.wanted(0, 4, 21.5), 4);        // 4.3 / 4 = 1.075
  EXPECT_EQ(scaler.wanted(kSecond, 4, 22.5), 5);  // 4.5 / 4 = 1.125
}

TEST(Autoscaler, GoesDownOnlyAsFarAsTheWholeWindowAllows) {
  // Evaluations every 100 s, a window of 300 s. The six of time 0 are forgotten after it.
  Autoscaler scaler(one_to_ten(1));
  EXPECT_EQ(scaler.wanted(0, 6, 6), 6);
  EXPECT_EQ(scaler.wanted(100 * kSecond, 6, 3), 6);
  EXPECT_EQ(scaler.wanted(200 * kSecond, 6, 1), 6);
  EXPECT_EQ(scaler.wanted(300 * kSecond, 6, 1), 3);
  EXPECT_EQ(scaler.wanted(400 * kSecond, 3, 0), 1);
}

TEST(Autoscaler, NeverGoesBelowTheLeast) {
  Autoscaling settings = one_to_ten(1);
  settings.min_replicas = 2;
  settings.scale_down_window = 0;
  Autoscaler scaler(settings);
  EXPECT_EQ(scaler.wanted(0, 3, 0), 2);
  EXPECT_EQ(scaler.wanted(kSecond, 0, 0), 2);  // all were lost
}

}  // namespace
}  // namespace roofcast::test
