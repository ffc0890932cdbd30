#include "planner/load/load_hours.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

constexpr Nanoseconds kMinute = 60'000'000'000;

Request request_at(std::int64_t minute, std::int64_t input, std::int64_t output) {
  return {.arrival = minute * kMinute, .input_tokens = input, .output_tokens = output};
}

/// From minute 10 on: two requests in the first hour, one in the second, three in the third.
Workload three_hours() {
  Workload workload;
  workload.requests = {request_at(10, 100, 10),  request_at(69, 100, 10),
                       request_at(70, 900, 30),  request_at(130, 400, 50),
                       request_at(140, 400, 50), request_at(189, 400, 50)};
  return workload;
}

TEST(LoadByHour, CountsFromTheFirstArrival) {
  const std::vector<LoadHour> hours = load_by_hour(three_hours());
  ASSERT_EQ(hours.size(), 3U);
  EXPECT_EQ(hours[0].requests, 2);
  EXPECT_EQ(hours[1].requests, 1);
  EXPECT_EQ(hours[2].requests, 3);
  EXPECT_EQ(hours[1].input_tokens, 900);
  EXPECT_EQ(hours[2].output_tokens, 150);
  EXPECT_EQ(hours[2].start_s, 7200);
}

TEST(BusiestHour, WeighsPromptsAndAnswersEachByTheirSum) {
  // Of 2,300 prompt and 200 generated tokens: 200 and 20, 900 and 30, 1,200 and 150.
  EXPECT_EQ(busiest_hour(load_by_hour(three_hours())), 2U);
  Workload prompts = three_hours();
  prompts.requests[2].input_tokens = 9'000;  // 0.87 of all prompts, 0.15 of the answers
  EXPECT_EQ(busiest_hour(load_by_hour(prompts)), 1U);
}

TEST(HoursOf, CutsOutRequestsFromTimeZero) {
  const Workload part = hours_of(three_hours(), 1, 2);
  ASSERT_EQ(part.requests.size(), 4U);
  EXPECT_EQ(part.requests[0].arrival, 0);
  EXPECT_EQ(part.requests[1].arrival, 60 * kMinute);
  EXPECT_EQ(part.requests[3].input_tokens, 400);
}

TEST(HasHours, IsNotOfSessions) {
  Workload sessions = three_hours();
  EXPECT_TRUE(has_hours(sessions));
  sessions.requests[1].follows = 0;
  EXPECT_FALSE(has_hours(sessions));
  EXPECT_FALSE(has_hours({}));
}

TEST(UnitsByHour, FollowTheLoadAndStartAnHourAhead) {
  // The third hour is the busiest. Relative to it the first has 2/3 of the requests, the second
  // 900/1200 of the prompts: 4 and 4.5 of 6 units, 4 and 5 whole ones; each hour has the next's
  // too.
  EXPECT_EQ(units_by_hour(load_by_hour(three_hours()), 6), (std::vector<std::int64_t>{5, 6, 6}));
  EXPECT_EQ(units_by_hour(load_by_hour(three_hours()), 1), (std::vector<std::int64_t>{1, 1, 1}));
}

}  // namespace
}  // namespace roofcast::test
