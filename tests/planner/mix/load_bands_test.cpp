#include "planner/mix/load_bands.hpp"

#include <gmock/gmock.h>

#include <tuple>

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Workload prompts_of(const std::vector<std::pair<std::int64_t, int>>& lengths) {
  Workload workload;
  for (const auto& [tokens, count] : lengths) {
    for (int i = 0; i < count; ++i) {
      workload.requests.push_back({.arrival = 1000 * std::ssize(workload.requests),
                                   .input_tokens = tokens,
                                   .output_tokens = tokens});
    }
  }
  return workload;
}

// 400 requests of 100 + 100 tokens and 100 of 400 + 400: 80,000 tokens each.
TEST(LoadBands, HaveEqualTokensEach) {
  const Workload workload = prompts_of({{100, 400}, {400, 100}});
  const std::vector<LoadBand> bands = bands_by_length(workload, 2);
  ASSERT_EQ(bands.size(), 2u);
  EXPECT_EQ(bands[0].route, (PoolRoute{.min_input_tokens = 0, .max_input_tokens = 100}));
  EXPECT_EQ(bands[1].route, (PoolRoute{.min_input_tokens = 101}));
  EXPECT_EQ(bands[0].workload.requests.size(), 400u);
  EXPECT_DOUBLE_EQ(bands[0].share, 0.8);
  EXPECT_EQ(bands[1].workload.requests.front().arrival, 400 * 1000);
}

TEST(LoadBands, AreOneWherePromptsAreEquallyLong) {
  EXPECT_EQ(bands_by_length(prompts_of({{100, 400}}), 6).size(), 1u);
}

TEST(LoadBands, AreNotOfAFewRequests) {
  // The 49 long prompts have most tokens, but are too few to say what they need.
  EXPECT_EQ(bands_by_length(prompts_of({{100, 400}, {8000, 49}}), 6).size(), 1u);
  EXPECT_EQ(bands_by_length(prompts_of({{100, 400}, {8000, 50}}), 6).size(), 2u);
}

// One session asks with 100 tokens at 10, and with 300 and 500 after pauses of 5 and 7; another
// with 250 at 12. Beyond 200 tokens the first is there from 15 on, after the second.
TEST(LoadBands, TakeTheTurnsOfSessionsThatAreTheirs) {
  Workload workload;
  workload.requests = {{.arrival = 10, .input_tokens = 100},
                       {.arrival = 5, .input_tokens = 300, .follows = 0},
                       {.arrival = 7, .input_tokens = 500, .follows = 1},
                       {.arrival = 12, .input_tokens = 250}};
  const std::vector<LoadBand> bands = bands_within(workload, {.min_input_tokens = 201}, 1);
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_DOUBLE_EQ(bands[0].share, 0.75);
  std::vector<std::tuple<Nanoseconds, std::int64_t, RequestId>> turns;
  for (const Request& one : bands[0].workload.requests) {
    turns.emplace_back(one.arrival, one.input_tokens, one.follows);
  }
  EXPECT_THAT(turns, ElementsAre(std::tuple(12, 250, kNoRequest), std::tuple(15, 300, kNoRequest),
                                 std::tuple(7, 500, 1)));
}

TEST(LoadBands, OfARouteStayWithinIt) {
  const Workload workload = prompts_of({{100, 400}, {200, 400}, {300, 400}, {400, 400}});
  const std::vector<LoadBand> bands =
      bands_within(workload, {.min_input_tokens = 150, .max_input_tokens = 350}, 2);
  ASSERT_EQ(bands.size(), 2u);
  EXPECT_EQ(bands[0].route, (PoolRoute{.min_input_tokens = 150, .max_input_tokens = 200}));
  EXPECT_EQ(bands[1].route, (PoolRoute{.min_input_tokens = 201, .max_input_tokens = 350}));
  EXPECT_DOUBLE_EQ(bands[0].share, 0.25);
}

TEST(LoadBands, AreOfClassesThatHaveRequests) {
  Workload workload = prompts_of({{100, 3}, {200, 1}});
  workload.class_names = {"chat", "none", "batch"};
  workload.requests[1].slo_class = 2;
  const std::vector<LoadBand> bands = bands_by_class(workload);
  ASSERT_EQ(bands.size(), 2u);
  EXPECT_EQ(bands[0].workload.requests.size(), 3u);
  EXPECT_THAT(bands[1].route.classes, ElementsAre("batch"));
  EXPECT_THAT(joined_route({bands[0].route, bands[1].route}).classes, ElementsAre("chat", "batch"));
}

}  // namespace
}  // namespace roofcast::test
