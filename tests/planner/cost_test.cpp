#include "planner/cost.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

PoolRun pool_of(const char* name, double price, int tensor, std::int32_t replicas) {
  PoolRun pool{.name = name, .replicas = replicas};
  pool.deployment.gpu.price = DollarsPerHour{price};
  pool.deployment.parallel.tensor = tensor;
  return pool;
}

TEST(Cost, IsPriceTimesGpusTimesReplicas) {
  // 3 replicas of 2 GPUs at 2.50 $/h and one of 4 at 1 $/h: 15 + 4 = 19 $/h. At 1,000 tokens a
  // second 3.6 million an hour: 19 / 3.6 $ a million.
  const std::vector<PoolRun> pools = {pool_of("a", 2.5, 2, 3), pool_of("b", 1, 4, 1)};
  SimulationResult result;
  result.output_tokens_per_s = 1000;
  const ServingCost cost = cost_of(pools, result);
  ASSERT_TRUE(cost.dollars_per_hour);
  EXPECT_DOUBLE_EQ(*cost.dollars_per_hour, 19);
  EXPECT_NEAR(*cost.dollars_per_million_output_tokens, 19 / 3.6, 1e-12);
}

TEST(Cost, ReplicasThatComeAndGoCountWhileTheyArePaidFor) {
  // One replica all 100 s, one for half of it: 1.5 of 2 GPUs at 2 $/h.
  const std::vector<PoolRun> pools = {pool_of("a", 2, 2, 1)};
  SimulationResult result;
  result.whole_makespan = Seconds{100};
  result.replicas = {{.pool = "a", .paid = Seconds{100}}, {.pool = "a", .paid = Seconds{50}}};
  EXPECT_DOUBLE_EQ(*cost_of(pools, result).dollars_per_hour, 6);
}

TEST(Cost, WithoutTokensThereIsNoneOfATokenAndWithoutAPriceNoneAtAll) {
  std::vector<PoolRun> pools = {pool_of("a", 2, 1, 1)};
  EXPECT_FALSE(cost_of(pools, {}).dollars_per_million_output_tokens);
  pools.push_back(pool_of("b", 2, 1, 1));
  pools.back().deployment.gpu.price.reset();
  EXPECT_FALSE(cost_of(pools, {}).dollars_per_hour);
}

TEST(Cost, EnergyIsIdlingPlusWhatTheStepsTookOverTheTokens) {
  // Two GPUs that idle at 100 W for 50 s and whose steps took 30 kJ: 200 + 600 = 800 W. At 1,000
  // tokens out and 3,000 in a second 0.8 J of an output token and 0.2 J of any.
  std::vector<PoolRun> pools = {pool_of("a", 2, 2, 1)};
  pools.front().deployment.gpu.board_power = Watts{700};
  pools.front().deployment.gpu.power.idle = Watts{100};
  SimulationResult result;
  result.whole_makespan = Seconds{50};
  result.output_tokens_per_s = 1000;
  result.input_tokens_per_s = 3000;
  EXPECT_FALSE(cost_of(pools, result).mean_power_w);  // nothing is known of its steps
  pools.front().step_energy = Joules{30e3};
  const ServingCost cost = cost_of(pools, result);
  EXPECT_DOUBLE_EQ(*cost.mean_power_w, 800);
  EXPECT_DOUBLE_EQ(*cost.joules_per_output_token, 0.8);
  EXPECT_DOUBLE_EQ(*cost.joules_per_token, 0.2);
  EXPECT_DOUBLE_EQ(*cost.board_power_w, 1400);
}

}  // namespace
}  // namespace roofcast
