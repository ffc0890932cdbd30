#include "planner/verdict/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

TEST(StepCensus, CountsTimeAtTheSchedulersLimits) {
  const FakeStepTime two_seconds(Seconds{2});
  Engine engine = plain_engine();
  engine.max_num_batched_tokens = 100;
  engine.block_size = 16;
  engine.max_num_seqs = 4;
  const CountedSteps steps(two_seconds, engine);
  steps.seconds({.prefills = {{.new_tokens = 100}}});                        // full
  steps.seconds({.prefills = {{.new_tokens = 81}}, .decode_sequences = 4});  // full to a block
  steps.seconds({.prefills = {{.new_tokens = 84}}});                         // room for a block
  steps.seconds({.decode_sequences = 4});                                    // no place
  steps.seconds({.decode_sequences = 3});
  EXPECT_EQ(steps.census().steps(), 5);
  EXPECT_EQ(steps.census().with_prompts.time.value, 6);
  EXPECT_EQ(steps.census().decode_only.time.value, 4);
  EXPECT_EQ(steps.census().at_token_budget.value, 4);
  EXPECT_EQ(steps.census().at_max_num_seqs.value, 4);  // five sequences, then four
}

/// Requests on one H100 with the engine's defaults except `overrides`.
SimulationRun prepared(const SyntheticWorkload& load, const EngineOverrides& overrides,
                       const std::vector<PercentileTarget>& targets) {
  Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}};
  scenario.workload = load;
  scenario.deployment.overrides = overrides;
  scenario.slo.targets = targets;
  return prepare_simulation(scenario);
}

SyntheticWorkload load_of(std::int64_t requests, std::int64_t input, std::int64_t output) {
  return {.num_prompts = requests, .input = fixed_length(input), .output = fixed_length(output)};
}

struct Explained {
  LimitAccount account{};
  LimitReport report{};

  const LimitGain& of(LimitKind kind) const {
    return *std::find_if(report.gains.begin(), report.gains.end(),
                         [&](const LimitGain& gain) { return gain.use.kind == kind; });
  }
};

Explained explained(SimulationRun& run) {
  Explained result;
  result.account = simulate_with_account(run, step_times_of(run), {});
  result.report = report_limits(run, result.account, 1, {}).value();
  return result;
}

TEST(Limits, EveryStepIsCountedOnce) {
  SimulationRun run = prepared(load_of(40, 300, 40), {}, {});
  const LimitAccount account = simulate_with_account(run, step_times_of(run), {});
  EXPECT_EQ(account.pools.front().census.steps(), run.result.use.steps);
  EXPECT_GT(run.pools.front().step_uncertainty, 0);
}

TEST(Limits, AFasterMemoryShortensDecodingByItsShareOfTheStep) {
  // One request: after its prompt all steps are decodes. A tenth more bandwidth takes 1 - 1 / 1.1
  // of what it bounds off each, rounded to nanoseconds (a step takes millions of them).
  SimulationRun run =
      prepared(load_of(1, 100, 50), {},
               {{.metric = LatencyMetric::tpot, .percentile = 50, .limit = Seconds{1}}});
  const Explained answer = explained(run);
  const double share = answer.account.pools.front().decodes.bandwidth;
  EXPECT_GT(share, 0.5);  // weights of 16 GB are read for every token
  EXPECT_NEAR(answer.of(LimitKind::bandwidth).gain, share * (1 - 1 / 1.1), 1e-6);
  EXPECT_EQ(answer.report.binding, LimitKind::bandwidth);
}

/// Shares of decode steps of Llama-3.1-70B in four pipeline stages.
StepShares shares_in_stages(const char* engine) {
  Scenario scenario{
      .deployment = {.model = "llama-3.1-70b", .gpu = "h100", .parallel = {.pipeline = 4}}};
  scenario.deployment.engine = engine;
  scenario.workload = load_of(8, 100, 50);
  SimulationRun run = prepare_simulation(scenario);
  return simulate_with_account(run, step_times_of(run), {}).pools.front().decodes;
}

// A stage reads 35 GB of weights for a few sequences; its host takes microseconds for each.
TEST(Limits, StagesWithHostsOfTheirOwnAreNotAllHost) {
  for (const char* engine : {"trtllm-1.2", "trtllm-1.3"}) {
    const StepShares shares = shares_in_stages(engine);
    EXPECT_GT(shares.bandwidth, 0.5) << engine;
    EXPECT_LT(shares.host, 0.3) << engine;
  }
}

TEST(Limits, AFasterHostShortensTheHandoverToo) {
  // Beside 100 s of handover the rest of the first token's time is as good as nothing: a host 10 %
  // faster takes 1 - 1 / 1.1 off it.
  Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}};
  scenario.workload = load_of(2, 100, 5);
  scenario.cluster = ClusterScenario{.pools = {{.name = "prefill", .role = PoolRole::prefill},
                                               {.name = "decode", .role = PoolRole::decode}}};
  scenario.slo.targets = {{.metric = LatencyMetric::ttft, .percentile = 50, .limit = Seconds{1}}};
  SimulationRun run = prepare_simulation(scenario);
  for (PoolRun& pool : run.pools) pool.deployment.engine.host.handover = Seconds{100};
  EXPECT_NEAR(explained(run).of(LimitKind::host).gain, 1 - 1 / 1.1, 1e-3);
}

// Nine prompts at once, 100 s each to tokenise, beside which all else is as good as nothing. In
// turn they wait 0 to 800 s of 100 to 900 s: 400 / 500 on average. At once none waits.
TEST(Limits, TokenisingInTurnIsTheHosts) {
  for (const char* engine : {"sglang", "vllm-0.19"}) {
    Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100", .engine = engine}};
    scenario.workload = load_of(9, 100, 5);
    SimulationRun run = prepare_simulation(scenario);
    run.pools.front().deployment.engine.host.per_prompt_token = Seconds{1};
    const Explained found = explained(run);
    EXPECT_NEAR(found.report.tokenizer_share, engine == std::string("sglang") ? 0.8 : 0, 1e-3);
    EXPECT_EQ(found.report.binding, LimitKind::host);
  }
}

TEST(Limits, TooFewPlacesBind) {
  // 30 requests at once, two at a time: with a third place they take two thirds of the time.
  SimulationRun run = prepared(load_of(30, 64, 64), {.max_num_seqs = 2}, {});
  const Explained answer = explained(run);
  EXPECT_EQ(answer.report.binding, LimitKind::max_num_seqs);
  EXPECT_GT(answer.of(LimitKind::max_num_seqs).use.share, 0.9);
  EXPECT_FALSE(answer.report.target);  // nothing is promised: the mean E2E is judged
}

TEST(Limits, TooFewBlocksBind) {
  // 1,100 tokens are 69 blocks of 16, so of 200 blocks three prompts (189) find theirs, but only
  // two sequences come to their end; a tenth more is 220, enough for three (207).
  SimulationRun run =
      prepared(load_of(40, 1000, 100), {.max_model_len = 2048, .num_gpu_blocks_override = 200}, {});
  const Explained answer = explained(run);
  EXPECT_EQ(answer.report.binding, LimitKind::kv_memory);
  EXPECT_GT(answer.of(LimitKind::kv_memory).use.share, 0.9);
}

TEST(Limits, OneGpuHasNoInterconnectAndABatchNoArrivals) {
  SimulationRun run = prepared(load_of(5, 64, 8), {}, {});
  const Explained answer = explained(run);
  for (const LimitGain& gain : answer.report.gains) {
    EXPECT_NE(gain.use.kind, LimitKind::interconnect);
    EXPECT_NE(gain.use.kind, LimitKind::queueing);
  }
}

TEST(Yardstick, OfAnEngineThatDoesNotKeepUpIsWhatGrows) {
  SimulationResult result;
  result.slo = {{.target = parse_percentile_target("p95:ttft:1s"), .achieved = 1.1},
                {.target = parse_percentile_target("p95:tpot:50ms"), .achieved = 0.1}};
  EXPECT_EQ(yardstick_of(result).target, 1);  // twice its limit
  result.saturation.saturated = true;
  EXPECT_EQ(yardstick_of(result).target, 0);
  result.slo.erase(result.slo.begin());
  EXPECT_FALSE(yardstick_of(result).target);
}

TEST(Limits, TheGreatestNoticeableGainBindsAndChanceOnlyWhereNothingElseDoes) {
  const auto gain = [](LimitKind kind, double share) {
    return LimitGain{.use = {.kind = kind}, .gain = share};
  };
  EXPECT_EQ(binding_limit({gain(LimitKind::compute, 0.2), gain(LimitKind::host, 0.1)}),
            LimitKind::compute);
  EXPECT_EQ(binding_limit({gain(LimitKind::queueing, 0.5), gain(LimitKind::host, 0.1)}),
            LimitKind::host);
  EXPECT_EQ(binding_limit({gain(LimitKind::queueing, 0.5), gain(LimitKind::host, 0.001)}),
            LimitKind::queueing);
  EXPECT_FALSE(binding_limit({gain(LimitKind::host, 0.001), gain(LimitKind::compute, -0.2)}));
  EXPECT_FALSE(binding_limit({}));
}

}  // namespace
}  // namespace roofcast::test
