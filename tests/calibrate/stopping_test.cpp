#include "calibrate/stopping.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace roofcast {
namespace {

/// 1 - noise, 1 + noise, and so on: for an even count n the deviation is noise * sqrt(n / (n - 1)).
std::vector<double> alternating(std::size_t count, double noise) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(i % 2 == 0 ? 1 - noise : 1 + noise);
  return samples;
}

TEST(Stopping, NeedsTenSamplesHoweverQuiet) {
  const StopRule rule;
  EXPECT_EQ(why_stop(rule, alternating(9, 0), 0.001), StopReason::none);
  EXPECT_EQ(why_stop(rule, alternating(10, 0), 0.001), StopReason::quiet);
}

TEST(Stopping, StopsBelowOnePercentOfDeviation) {
  // 0.0090 * sqrt(10 / 9) = 0.0095; 0.0096 * sqrt(10 / 9) = 0.0101.
  EXPECT_EQ(why_stop({}, alternating(10, 0.0090), 0.001), StopReason::quiet);
  EXPECT_EQ(why_stop({}, alternating(10, 0.0096), 0.001), StopReason::none);
}

TEST(Stopping, ANoiseThatStaysIsThePointsOwn) {
  // The deviation of 48 to 64 alternating samples is 0.1 times 1 to 1.011: within 5 %.
  EXPECT_EQ(why_stop({}, alternating(63, 0.1), 0.001), StopReason::none);
  EXPECT_EQ(why_stop({}, alternating(64, 0.1), 0.001), StopReason::stable_noise);
}

TEST(Stopping, ANoiseThatStillGrowsIsNotStable) {
  // Quiet until the last 15: they alone bring it from 0 to a third.
  std::vector<double> samples(64, 1.0);
  for (std::size_t i = 49; i < 64; ++i) samples[i] = 2.0;
  EXPECT_EQ(why_stop({}, samples, 0.001), StopReason::none);
}

TEST(Stopping, TheTimeBoxEndsLongPoints) {
  EXPECT_EQ(why_stop({}, alternating(3, 0.1), 0.0599), StopReason::none);
  EXPECT_EQ(why_stop({}, alternating(3, 0.1), 0.0600), StopReason::time_box);
  EXPECT_EQ(why_stop({}, alternating(2, 0.1), 10.0), StopReason::none);  // a median needs three
}

TEST(Stopping, QuietIsSaidBeforeTheTimeBox) {
  EXPECT_EQ(why_stop({}, alternating(10, 0), 1.0), StopReason::quiet);
}

}  // namespace
}  // namespace roofcast
