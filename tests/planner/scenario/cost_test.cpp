#include "planner/scenario/cost.hpp"

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

TEST(Cost, TokensOfALoadThatIsKeptUpWithCostWhatTheyDoAtItsRate) {
  // 10 requests/s of 100 tokens for 40 s, and 10 s until the last answers: 8 /s over the run. At
  // 3.6 $/h a million tokens takes 1,000 s of the load, which is 1 $; over the run it would
  // be 1.25.
  std::vector<PoolRun> pools = {pool_of("a", 3.6, 1, 1)};
  SimulationResult result;
  result.completed = 400;
  result.makespan = result.whole_makespan = Seconds{50};
  result.offered_rate_per_s = 10;
  result.request_rate_per_s = 8;
  result.output_tokens_per_s = 800;
  EXPECT_DOUBLE_EQ(cost_of(pools, result).dollars_per_million_output_tokens.value(), 1);
  // One in five is rejected: 8 /s are served of the 10 offered, as in the run.
  result.rejected = 100;
  EXPECT_DOUBLE_EQ(cost_of(pools, result).dollars_per_million_output_tokens.value(), 1.25);
  result.rejected = 0;
  // Too short a run for a verdict has the same load, unless much of a request's time is waiting.
  result.saturation.undecided = true;
  result.e2e.mean = 3;
  result.queue.mean = 0.9;
  EXPECT_DOUBLE_EQ(cost_of(pools, result).dollars_per_million_output_tokens.value(), 1);
  result.queue.mean = 1.1;
  EXPECT_DOUBLE_EQ(cost_of(pools, result).dollars_per_million_output_tokens.value(), 1.25);
  result.saturation = {.saturated = true};
  EXPECT_DOUBLE_EQ(cost_of(pools, result).dollars_per_million_output_tokens.value(), 1.25);
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

TEST(Cost, OwnedGpusPayForWhatTheyDraw) {
  // Two GPUs at 1.21 $/h, of which 0.0003 $ for each of 700 W. They idle at 100 W for 50 s, and
  // their steps took 30 kJ: 800 of 1,400 W. 2.42 - 600 x 0.0003 = 2.24 $/h.
  std::vector<PoolRun> pools = {pool_of("a", 1.21, 2, 1)};
  Gpu& gpu = pools.front().deployment.gpu;
  gpu.board_power = Watts{700};
  gpu.power.idle = Watts{100};
  gpu.price_per_watt = 0.0003;
  SimulationResult result;
  result.whole_makespan = Seconds{50};
  EXPECT_DOUBLE_EQ(*cost_of(pools, result).dollars_per_hour, 2.42);  // what is drawn is not known
  pools.front().step_energy = Joules{30e3};
  EXPECT_NEAR(*cost_of(pools, result).dollars_per_hour, 2.24, 1e-12);
}

TEST(Cost, LittleAmountsKeepTwoSignificantDigits) {
  EXPECT_EQ(amount(0.0996, 2), "0.10");
  EXPECT_EQ(amount(0.0994, 2), "0.099");
  EXPECT_EQ(amount(12.3456, 2), "12.35");
  EXPECT_EQ(amount(0.1, 2), "0.10");
  EXPECT_EQ(amount(0.0271, 2), "0.027");
  EXPECT_EQ(amount(0.0284, 2), "0.028");  // both "0.03" with two decimals
  EXPECT_EQ(amount(0.00157, 2), "0.0016");
  EXPECT_EQ(amount(-0.0284, 2), "-0.028");
  EXPECT_EQ(amount(0, 2), "0.00");
  EXPECT_EQ(amount(0.04, 0), "0");  // watts
  EXPECT_EQ(printed_amount(0.0271, 2).number, "0.027");
}

TEST(Cost, OfAGenerationIsThatOfItsGpusForItsTokens) {
  // 4 GPUs at 2 $/h idle at 100 W each; the 50 s of a generation take 30 kJ more: 400 + 600 W. At
  // 1,000 output tokens/s, with 3 prompt tokens each, 8 / 3.6 $ and 1 J, or a quarter of both.
  Deployment deployment;
  deployment.gpu.price = DollarsPerHour{2};
  deployment.gpu.board_power = Watts{700};
  deployment.gpu.power.idle = Watts{100};
  deployment.parallel.tensor = 2;
  deployment.parallel.data = 2;
  const GenerationEstimate generation{
      .output_tokens_per_second = 1000, .energy = Joules{30e3}, .whole = Seconds{50}};
  const ServingCost cost = cost_of(deployment, generation, 300, 100);
  EXPECT_DOUBLE_EQ(cost.dollars_per_hour.value(), 8);
  EXPECT_DOUBLE_EQ(cost.dollars_per_million_output_tokens.value(), 8 / 3.6);
  EXPECT_DOUBLE_EQ(cost.dollars_per_million_tokens.value(), 2 / 3.6);
  EXPECT_DOUBLE_EQ(cost.mean_power_w.value(), 1000);
  EXPECT_DOUBLE_EQ(cost.joules_per_output_token.value(), 1);
  EXPECT_DOUBLE_EQ(cost.joules_per_token.value(), 0.25);
  EXPECT_DOUBLE_EQ(cost.board_power_w.value(), 2800);
  // A second of 8 $/h.
  EXPECT_DOUBLE_EQ(dollars_for(cost, Seconds{1}).value(), 8 / 3600.0);
  EXPECT_FALSE(idle_cost(deployment).dollars_per_million_tokens);
}

}  // namespace
}  // namespace roofcast
