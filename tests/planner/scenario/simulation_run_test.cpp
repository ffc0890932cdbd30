#include "planner/scenario/simulation_run.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

Scenario two_by_four() {
  Scenario scenario;
  scenario.deployment = {.model = "llama-3.1-70b",
                         .gpu = "h100",
                         .engine = "sglang",
                         .parallel = {.tensor = 4, .pipeline = 2},
                         .overrides = {.max_num_seqs = 64, .block_size = 32}};
  return scenario;
}

TEST(DeploymentOptions, APoolFollowsItsScenario) {
  const DeploymentOptions options = deployment_options(two_by_four(), {});
  EXPECT_EQ(options.model, "llama-3.1-70b");
  EXPECT_EQ(options.engine, "sglang");
  EXPECT_EQ(with_given({}, options.parallel), (Parallelism{.tensor = 4, .pipeline = 2}));
  EXPECT_EQ(options.overrides.block_size, 32);
}

// A pool of two GPUs is not one of two stages because its scenario is.
TEST(DeploymentOptions, APoolsOwnDegreesAndOverridesReplaceAllOfTheScenarios) {
  const PoolScenario pool{
      .own = {.gpu = "l40s", .parallel = {.tensor = 2}, .overrides = {.max_num_seqs = 8}}};
  const DeploymentOptions options = deployment_options(two_by_four(), pool);
  EXPECT_EQ(options.gpu, "l40s");
  EXPECT_EQ(options.engine, "sglang");
  EXPECT_EQ(with_given({}, options.parallel), (Parallelism{.tensor = 2}));
  EXPECT_EQ(options.overrides.max_num_seqs, 8);
  EXPECT_FALSE(options.overrides.block_size.has_value());
}

}  // namespace
}  // namespace roofcast::test
