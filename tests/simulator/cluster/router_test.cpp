#include "simulator/cluster/router.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

namespace roofcast::test {
namespace {

const std::vector<std::int32_t> kAllReplicas = {0, 1, 2};

Router router_of(RouterPolicy policy) {
  return Router(RouterOptions{.policy = policy}, random_stream(1, "router"));
}

std::int32_t choose(Router router, const std::vector<ReplicaLoad>& loads) {
  return router.choose(kAllReplicas, loads, {});
}

/// A prompt of 100 tokens with this many of them cached in each replica.
RoutedPrompt cached(std::vector<std::int64_t> tokens) {
  return {.input_tokens = 100, .cached_tokens = [tokens = std::move(tokens)](std::int32_t replica) {
            return tokens[static_cast<std::size_t>(replica)];
          }};
}

std::int32_t choose_by_affinity(const std::vector<ReplicaLoad>& loads,
                                const std::vector<std::int64_t>& tokens) {
  return router_of(RouterPolicy::prefix_affinity).choose(kAllReplicas, loads, cached(tokens));
}

TEST(Router, RoundRobinTakesTurns) {
  Router router = router_of(RouterPolicy::round_robin);
  const std::vector<ReplicaLoad> loads(3);
  std::vector<std::int32_t> chosen;
  for (int i = 0; i < 5; ++i) chosen.push_back(router.choose(kAllReplicas, loads, {}));
  EXPECT_THAT(chosen, testing::ElementsAre(0, 1, 2, 0, 1));
}

TEST(Router, LeastOutstandingTakesTheFirstOfTheLeast) {
  EXPECT_EQ(choose(router_of(RouterPolicy::least_outstanding),
                   {{.outstanding = 2}, {.outstanding = 1}, {.outstanding = 1}}),
            1);
}

TEST(Router, LeastKvBreaksTiesByOutstandingRequests) {
  EXPECT_EQ(choose(router_of(RouterPolicy::least_kv), {{.outstanding = 0, .kv_use = 0.5},
                                                       {.outstanding = 3, .kv_use = 0.2},
                                                       {.outstanding = 2, .kv_use = 0.2}}),
            2);
}

TEST(Router, VllmsBalancerWeighsAWaitingRequestAsFourRunningOnes) {
  // 4 * 0 + 7 = 7, 4 * 1 + 2 = 6, 4 * 2 + 0 = 8.
  EXPECT_EQ(choose(router_of(RouterPolicy::vllm_dp), {{.outstanding = 7, .running = 7},
                                                      {.outstanding = 3, .running = 2},
                                                      {.outstanding = 2, .running = 0}}),
            1);
}

TEST(Router, PowerOfTwoNeverTakesTheMostLoadedAndTakesAllOthers) {
  // The busiest of three loses in any pair.
  Router router = router_of(RouterPolicy::power_of_two);
  const std::vector<ReplicaLoad> loads = {{.outstanding = 5}, {.outstanding = 9}, {}};
  std::vector<int> chosen(3);
  for (int i = 0; i < 300; ++i) {
    ++chosen[static_cast<std::size_t>(router.choose(kAllReplicas, loads, {}))];
  }
  EXPECT_EQ(chosen[1], 0);
  // The pair {0, 1} comes up in a third of the draws: 100 of 300, standard deviation 8.2.
  EXPECT_NEAR(chosen[0], 100, 41);
}

TEST(Router, RandomTakesAllAlikeAndTheSameOnesForTheSameSeed) {
  Router router = router_of(RouterPolicy::random);
  Router again = router_of(RouterPolicy::random);
  const std::vector<ReplicaLoad> loads(3);
  std::vector<int> chosen(3);
  for (int i = 0; i < 300; ++i) {
    const std::int32_t one = router.choose(kAllReplicas, loads, {});
    ASSERT_EQ(one, again.choose(kAllReplicas, loads, {}));
    ++chosen[static_cast<std::size_t>(one)];
  }
  for (const int count : chosen) EXPECT_NEAR(count, 100, 41);
}

TEST(Router, PrefixAffinityGoesWhereMostOfThePromptIsCached) {
  EXPECT_EQ(
      choose_by_affinity({{.outstanding = 0}, {.outstanding = 9}, {.outstanding = 5}}, {0, 40, 32}),
      1);
}

TEST(Router, PrefixAffinityNeedsMoreThanTheThresholdCached) {
  // 0.3 of 100 tokens is not more than 0.3.
  EXPECT_EQ(
      choose_by_affinity({{.outstanding = 4}, {.outstanding = 9}, {.outstanding = 3}}, {0, 30, 0}),
      2);
}

TEST(Router, PrefixAffinityGivesWayWhenTheLoadIsOutOfBalance) {
  // Out of balance from 65 more than the least, if that is more than 1.5 times it.
  const std::vector<std::int64_t> tokens = {90, 0, 0};
  EXPECT_EQ(choose_by_affinity({{.outstanding = 64}, {}, {}}, tokens), 0);
  EXPECT_EQ(choose_by_affinity({{.outstanding = 65}, {}, {}}, tokens), 1);
  EXPECT_EQ(choose_by_affinity({{.outstanding = 265}, {.outstanding = 200}, {.outstanding = 200}},
                               tokens),
            0);
}

TEST(Router, EveryNameIsReadBackWithHyphensToo) {
  for (const std::string_view name : router_policy_names()) {
    std::string hyphens(name);
    std::replace(hyphens.begin(), hyphens.end(), '_', '-');
    ASSERT_TRUE(parse_router_policy(name));
    EXPECT_EQ(name_of(*parse_router_policy(name)), name);
    EXPECT_EQ(parse_router_policy(hyphens), parse_router_policy(name));
  }
  EXPECT_EQ(parse_router_policy("best"), std::nullopt);
}

}  // namespace
}  // namespace roofcast::test
