// When prompts of data-parallel ranks start: rules of TensorRT-LLM's _balance_adp_requests, and
// schedules worked out by hand.
#include "simulator/cluster/prompt_balance.hpp"

#include <gmock/gmock.h>

#include <array>

#include "tests/simulator/cluster/cluster_support.hpp"

namespace roofcast::test {
namespace {

Engine balanced(std::int64_t timeout, std::int64_t wait) {
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.chunked_prefill = false;
  engine.max_num_seqs = 4;
  engine.attention_dp_enable_balance = true;
  engine.attention_dp_timeout_iters = timeout;
  engine.attention_dp_batching_wait_iters = wait;
  return engine;
}

constexpr std::array kBothReady{StepOffer{.prompts = 1, .generations = 2},
                                StepOffer{.prompts = 3, .generations = 1}};
constexpr std::array kOneReady{StepOffer{.prompts = 1, .generations = 2},
                               StepOffer{.prompts = 0, .generations = 1}};

TEST(PromptBalance, PromptsStartWhenEveryRankHasOne) {
  PromptBalance balance(balanced(60, 0));
  EXPECT_TRUE(balance.holds(kOneReady));
  EXPECT_FALSE(balance.holds(kBothReady));
}

TEST(PromptBalance, OrAfterSoManySteps) {
  PromptBalance balance(balanced(3, 0));
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(balance.holds(kOneReady));
    EXPECT_TRUE(balance.holds(kOneReady));
    EXPECT_FALSE(balance.holds(kOneReady));
  }
  // Steps without any prompt count as well.
  const std::array none{StepOffer{.generations = 1}, StepOffer{.generations = 1}};
  EXPECT_TRUE(balance.holds(none));
  EXPECT_TRUE(balance.holds(none));
  EXPECT_FALSE(balance.holds(kOneReady));
}

TEST(PromptBalance, OrAtOnceWhileARankGeneratesNothing) {
  PromptBalance balance(balanced(60, 10));
  const std::array idle{StepOffer{.prompts = 1, .generations = 2}, StepOffer{}};
  EXPECT_FALSE(balance.holds(idle));
  const std::array first{StepOffer{.prompts = 1}, StepOffer{.prompts = 1}};
  EXPECT_FALSE(balance.holds(first));
}

TEST(PromptBalance, OnceAllHaveOneTheyWaitForFurtherOnes) {
  PromptBalance balance(balanced(60, 2));
  EXPECT_TRUE(balance.holds(kBothReady));
  EXPECT_TRUE(balance.holds(kBothReady));
  EXPECT_FALSE(balance.holds(kBothReady));
  EXPECT_TRUE(balance.holds(kBothReady));
}

TEST(PromptBalance, ARankWithoutAFreePlaceHasNoPromptToStart) {
  PromptBalance balance(balanced(60, 0));
  const std::array full{StepOffer{.prompts = 1, .generations = 4},
                        StepOffer{.prompts = 1, .generations = 1}};
  EXPECT_TRUE(balance.holds(full));
}

/// When C gets its first token: a prompt of 4 tokens that comes at 1.5 s to the rank on which A
/// generates, while B generates on the other. D, if any, is like C at 1.7 s on B's rank.
Nanoseconds first_token_of_c(const Engine& engine, bool with_d = false) {
  Cluster cluster = cluster_of(roomy_replica(engine, second_a_token()), 1);
  cluster.pools[0].ranks = 2;
  cluster.pools[0].lockstep = true;
  cluster.pools[0].rank_router.policy = RouterPolicy::round_robin;
  std::vector<Asked> asked{{0, 1, 20}, {0, 1, 20}, {3 * kHalfSecond, 4, 1}};
  if (with_d) asked.push_back({17 * kSecond / 10, 4, 1});
  return simulate(cluster, workload_of(asked), {}).requests[2].first_token;
}

// Both prompts run from 0 to 1 s, and each further step takes a second. The steps that begin at 1
// and 2 s are the first and second without prompts on both ranks. With C a step takes 4 + 1 s.
TEST(PromptBalance, HoldsAPromptOfOneRankForSoManySteps) {
  Engine at_once = balanced(3, 0);
  at_once.attention_dp_enable_balance = false;
  EXPECT_EQ(first_token_of_c(at_once), 7 * kSecond);         // 2 to 7 s
  EXPECT_EQ(first_token_of_c(balanced(3, 0)), 8 * kSecond);  // 3 to 8 s
  EXPECT_EQ(first_token_of_c(balanced(5, 0)), 10 * kSecond);
  EXPECT_EQ(first_token_of_c(balanced(60, 0), true), 7 * kSecond);
  EXPECT_EQ(first_token_of_c(balanced(60, 1), true), 8 * kSecond);
}

// Steps are decided when the one before begins: at 0 s (twice), 1, 2 and 3 s. The decision at 2 s
// is the third without prompts on both ranks; its step begins at 3 s.
TEST(PromptBalance, CountsDecisionsWhereTheyAreTakenAStepAhead) {
  Engine engine = balanced(3, 0);
  engine.async_scheduling = true;
  EXPECT_EQ(first_token_of_c(engine), 8 * kSecond);
  engine.attention_dp_timeout_iters = 4;
  EXPECT_EQ(first_token_of_c(engine), 9 * kSecond);
}

}  // namespace
}  // namespace roofcast::test
