#include "planner/verdict/steady_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <variant>
#include <vector>

#include "simulator/io/scenario_workload.hpp"

namespace roofcast::test {
namespace {

Scenario poisson(double rate) {
  Scenario scenario;
  scenario.deployment.model = "llama-3.2-1b";
  scenario.deployment.gpu = "rtx-4090";
  scenario.deployment.overrides.max_model_len = 8192;
  SyntheticWorkload load{.num_prompts = kRequestLimits.first, .request_rate = rate};
  load.input = fixed_length(500);
  load.output = fixed_length(50);
  scenario.workload = load;
  return scenario;
}

std::int64_t arrivals_of(const SimulationRun& run) {
  return std::get<SyntheticWorkload>(run.scenario.workload).num_prompts;
}

TEST(GrowingLoad, DrawsMoreOfTheSameRequests) {
  const Scenario scenario = poisson(5);
  const GrowingLoad load(scenario, load_workload(scenario), true);
  const auto more = load.of(2 * load.first());
  EXPECT_EQ(std::ssize(more->requests), 2 * kRequestLimits.first);
  EXPECT_EQ(load.of(2 * load.first()), more);  // drawn once
}

TEST(GrowingLoad, OfAFixedNumberStaysAsItIs) {
  const Scenario scenario = poisson(5);
  const GrowingLoad load(scenario, load_workload(scenario), false);
  EXPECT_EQ(std::ssize(load.of(8000)->requests), kRequestLimits.first);
}

TEST(GrowingLoad, LimitsSessionsByTheRequestsThatTheyBring) {
  const auto limits_with = [](std::int64_t turns) {
    Scenario scenario = poisson(5);
    auto& load = std::get<SyntheticWorkload>(scenario.workload);
    load.input = fixed_length(10);
    load.sessions = Sessions{.turns = fixed_length(turns)};
    load.num_prompts = first_arrivals(scenario);
    return GrowingLoad(scenario, load_workload(scenario), true).limits();
  };
  EXPECT_EQ(limits_with(3).search, kSessionLimits.search);  // 48,000 requests
  // 320,000 requests are 16,000 sessions of twenty turns, 40,000 are 2,000.
  EXPECT_EQ(limits_with(20).search, 2'000);
  EXPECT_EQ(limits_with(20).one, 2'000);
  EXPECT_EQ(limits_with(200).search, kSessionLimits.first);  // never fewer: 100,000 requests
}

TEST(MayGrow, IsForSteadyLoadsAlone) {
  EXPECT_TRUE(may_grow(poisson(5)));
  Scenario batch = poisson(kAllAtOnce);
  EXPECT_FALSE(may_grow(batch));
  batch.max_concurrency = 4;
  EXPECT_TRUE(may_grow(batch));
  Scenario ramp = poisson(5);
  std::get<SyntheticWorkload>(ramp.workload).pattern = RampUp{};
  EXPECT_FALSE(may_grow(ramp));
}

TEST(SimulateUntilDecided, StopsWhereTheVerdictStands) {
  // Five a second of some tens of milliseconds: two thousand are plenty.
  const Scenario scenario = poisson(5);
  SimulationRun run = prepare_simulation(scenario);
  const GrowingLoad load(scenario, run.workload, true);
  int simulations = 0;
  const SloVerdict verdict =
      simulate_until_decided(run, {.load = &load, .most = 16'000, .requirement = {.sample = true}},
                             [&](SimulationRun& one) {
                               ++simulations;
                               one.result = simulate_run(one);
                             });
  EXPECT_TRUE(verdict.holds);
  EXPECT_FALSE(verdict.undecided) << verdict.finding;
  EXPECT_EQ(simulations, 1);
  EXPECT_EQ(arrivals_of(run), kRequestLimits.first);
}

TEST(SimulateUntilDecided, LengthensARunWhoseEngineHasNotFilled) {
  // 2,000 requests in 10 s cannot show what holds for requests that stay that long.
  Scenario scenario = poisson(200);
  std::get<SyntheticWorkload>(scenario.workload).output = fixed_length(2000);
  SimulationRun run = prepare_simulation(scenario);
  const GrowingLoad load(scenario, run.workload, true);
  const SloVerdict verdict =
      simulate_until_decided(run, {.load = &load, .most = 16'000, .requirement = {.sample = true}},
                             [](SimulationRun& one) { one.result = simulate_run(one); });
  EXPECT_FALSE(run.result.saturation.undecided && arrivals_of(run) < 16'000);
  EXPECT_TRUE(!verdict.holds || arrivals_of(run) > kRequestLimits.first);
}

// A limit that is the measured percentile itself: 2,000 requests cannot tell.
TEST(LengthenUntilDecided, GoesOnFromTheRequestsThatHaveBeenSimulated) {
  Scenario scenario = poisson(30);
  SimulationRun run = prepare_simulation(scenario);
  run.result = simulate_run(run);
  scenario.slo.targets = {{LatencyMetric::ttft, 95, Seconds{run.result.ttft.p95}}};
  run = prepare_simulation(scenario);
  const GrowingLoad load(scenario, run.workload, true);
  run.result = simulate_run(run);
  std::vector<std::int64_t> lengths;
  lengthen_until_decided(run, {.load = &load, .most = 8000, .requirement = {.sample = true}},
                         [&](SimulationRun& one) {
                           lengths.push_back(arrivals_of(one));
                           one.result = simulate_run(one);
                         });
  ASSERT_FALSE(lengths.empty());
  EXPECT_EQ(lengths.front(), 2 * kRequestLimits.first);
}

}  // namespace
}  // namespace roofcast::test
