#include "simulator/cluster/autoscaler.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

Autoscaling one_to_ten(double target) {
  return {.min_replicas = 1, .max_replicas = 10, .target = target};
}

TEST(Autoscaler, WantsTheSumOverTheTargetRoundedUp) {
  EXPECT_EQ(Autoscaler(one_to_ten(5)).wanted(0, 2, 21), 5);  // 21 / 5 = 4.2
  EXPECT_EQ(Autoscaler(one_to_ten(5)).wanted(0, 6, 100), 10);
  EXPECT_EQ(Autoscaler(one_to_ten(5)).wanted(0, 6, 1e30), 10);
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

TEST(Autoscaler, KeepsWhatThereWasAtTheStartForAWindow) {
  // Idle from the first evaluation, at 15 s, on: that one found four, which count until 315 s.
  Autoscaler scaler(one_to_ten(1));
  for (Nanoseconds time = 15 * kSecond; time < 315 * kSecond; time += 15 * kSecond) {
    ASSERT_EQ(scaler.wanted(time, 4, 0), 4);
  }
  EXPECT_EQ(scaler.wanted(315 * kSecond, 4, 0), 1);
}

TEST(Autoscaler, GrowsByFourOrDoublesInFifteenSeconds) {
  Autoscaling settings = one_to_ten(1);
  settings.max_replicas = 100;
  Autoscaler scaler(settings);
  EXPECT_EQ(scaler.wanted(0, 1, 100), 5);               // 1 + 4
  EXPECT_EQ(scaler.wanted(14 * kSecond, 5, 100), 5);    // the four have been spent
  EXPECT_EQ(scaler.wanted(15 * kSecond, 5, 100), 10);   // 2 * 5
  EXPECT_EQ(scaler.wanted(30 * kSecond, 10, 12), 12);   // 20 would be allowed,
  EXPECT_EQ(scaler.wanted(31 * kSecond, 12, 100), 20);  // and still are
  EXPECT_EQ(scaler.wanted(45 * kSecond, 20, 100), 24);  // 2 * the 12 of 30 s
}

TEST(Autoscaler, WantsAgainWhatTheWindowHoldsWhenTheRateHadCutItShort) {
  // 20 are needed at 0 and none at 15 s: the 20 hold for 300 s, and are reached by and by.
  Autoscaling settings = one_to_ten(1);
  settings.max_replicas = 100;
  Autoscaler scaler(settings);
  EXPECT_EQ(scaler.wanted(0, 2, 20), 6);
  EXPECT_EQ(scaler.wanted(15 * kSecond, 6, 0), 12);
  EXPECT_EQ(scaler.wanted(30 * kSecond, 12, 0), 20);
  EXPECT_EQ(scaler.wanted(299 * kSecond, 20, 0), 20);
  EXPECT_EQ(scaler.wanted(300 * kSecond, 20, 0), 1);
}

TEST(Autoscaler, ReplacesWhatWasLost) {
  // Six are wanted and one is lost: five are enough, but not for a window yet.
  Autoscaler scaler(one_to_ten(1));
  EXPECT_EQ(scaler.wanted(0, 6, 6), 6);
  EXPECT_EQ(scaler.wanted(15 * kSecond, 5, 5), 6);
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
