#include "planner/scenario/simulation_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/scenario/resolve_deployment.hpp"

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

TEST(DeploymentOptions, HoldForTheTermsOfAnEngineProfile) {
  const auto tokenising =
      std::ranges::find(host_terms(), &HostOverhead::per_prompt_token, &HostTerm::member);
  EngineChoice engine{.preset = "sglang"};
  engine.profile =
      EngineProfile{.name = "ours", .preset = "sglang", .host = {{&*tokenising, Seconds{0.001}}}};
  const Deployment given = resolve({.model = "llama-3.1-8b", .gpu = "h100"}).deployment;
  const auto per_prompt_token = [&](const EngineOverrides& overrides) {
    return deploy(given.model, given.gpu, {}, engine, overrides).engine.host.per_prompt_token.value;
  };
  EXPECT_EQ(per_prompt_token({}), 0.001);
  EXPECT_EQ(per_prompt_token({.skip_tokenizer_init = true}), 0);
}

}  // namespace
}  // namespace roofcast::test
