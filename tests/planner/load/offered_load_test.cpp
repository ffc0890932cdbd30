#include "planner/load/offered_load.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

Request at(Nanoseconds arrival) {
  return {.arrival = arrival, .input_tokens = 7, .output_tokens = 3};
}

/// Arrivals at 1, 2 and 5 s; the second starts a session whose next turn comes 10 s after its
/// answer.
Workload three_starts() {
  Workload workload;
  workload.requests = {at(1 * kSecond), at(2 * kSecond), at(5 * kSecond), at(10 * kSecond)};
  workload.requests[3].follows = 1;
  return workload;
}

TEST(OfferedLoad, TwiceTheRateHalvesArrivalsAndLeavesPausesAndLengths) {
  const Workload faster = at_factor(three_starts(), 2);
  EXPECT_EQ(faster.requests[0].arrival, kSecond / 2);
  EXPECT_EQ(faster.requests[1].arrival, kSecond);
  EXPECT_EQ(faster.requests[2].arrival, 5 * kSecond / 2);
  EXPECT_EQ(faster.requests[3].arrival, 10 * kSecond);
  EXPECT_EQ(faster.requests[2].input_tokens, 7);
  EXPECT_EQ(faster.requests[2].output_tokens, 3);
}

TEST(OfferedLoad, TheRateCountsEverySessionWithAllItsTurns) {
  // 3 starts in 4 s: 2 gaps, half a start a second; 4 requests for 3 starts.
  EXPECT_DOUBLE_EQ(offered_rate_per_s(three_starts()), 0.5 * 4 / 3);
  EXPECT_DOUBLE_EQ(offered_rate_per_s(at_factor(three_starts(), 4)), 4 * 0.5 * 4 / 3);
}

TEST(OfferedLoad, WhatComesAtOnceHasNoRate) {
  const Workload batch = all_at_once(three_starts());
  EXPECT_EQ(batch.requests[2].arrival, 0);
  EXPECT_EQ(batch.requests[3].arrival, 10 * kSecond);
  EXPECT_EQ(offered_rate_per_s(batch), 0);
  EXPECT_THROW(at_factor(batch, 2), Error);
  EXPECT_THROW(at_factor({}, 2), Error);
}

TEST(OfferedLoad, ALoadThatOutlastsSimulatedTimeIsRefused) {
  EXPECT_THROW(at_factor(three_starts(), 1e-10), Error);  // 5e10 s: Nanoseconds end at 9.2e9 s
}

}  // namespace
}  // namespace roofcast::test
