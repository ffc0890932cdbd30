// The answer of `roofcast simulate` on runs with rejections, stages, replicas, histograms or prefix
// hits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/answers/simulation_sections.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string as_text(const SimulationRun& run) {
  std::ostringstream out;
  write({.machine = nullptr, .sections = simulation_sections(answer_of(run))}, OutputFormat::table,
        out);
  return out.str();
}

/// The distribution of two requests, each of `seconds`.
Distribution of_two(double seconds, bool exact = true) {
  Distribution distribution{.count = 2, .exact = exact};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    distribution.*statistic.value = seconds;
  }
  return distribution;
}

SimulationRun run_of_two() {
  SimulationRun run;
  run.result.completed = 2;
  run.result.makespan = Seconds{10};
  run.result.ttft = run.result.tpot = run.result.itl = run.result.e2e = of_two(1);
  run.result.saturation.finding = "keeps up";
  return run;
}

TEST(SimulateAnswer, ARunThatServesNothingIsANo) {
  const CommandResult result = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 3 --input-len 1000 --output-len 10 "
      "--max-model-len 500 --no-store");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("Nothing is served: all 3 requests are rejected."));
  EXPECT_THAT(result.out, HasSubstr("No request finished."));
}

// One process tokenises at most 1 / (8,000 x 4.4 us) = 28 prompts a second for eight ranks, which
// compute several times as many.
TEST(SimulateAnswer, ASaturatedTokeniserIsNamedWithItsRemedy) {
  const std::string command =
      "simulate --model llama-3.2-1b --gpu h100 --dp 8 --engine sglang --input-len 8000 "
      "--output-len 2 --num-prompts 500 --request-rate 60 --slo p95:ttft:500ms --no-store ";
  const std::string out = run_command(command + "--explain").out;
  EXPECT_THAT(out, HasSubstr("tokeniser queue"));
  EXPECT_THAT(out, HasSubstr("The binding limit is tokenising prompts, one process a server"));
  EXPECT_THAT(out, HasSubstr("prompts sent as token ids (--skip-tokenizer-init true)"));
  EXPECT_THAT(run_command(command + "--skip-tokenizer-init").out,
              Not(HasSubstr("tokeniser queue")));
}

TEST(SimulateAnswer, OneOfAThingIsSingular) {
  const CommandResult result = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 1 --input-len 1000 --output-len 10 "
      "--max-model-len 500 --no-store");
  EXPECT_THAT(result.out, HasSubstr("Nothing is served: the only request is rejected."));
  EXPECT_THAT(
      run_command("estimate --model llama-3.1-8b --gpu h100 --batch 1 --isl 10 --osl 1").out,
      HasSubstr("1 sequence of 10 prompt and 1 output token\n"));
}

// 50 requests at 5/s come in 10 s, and the last is served at least 49 steps later, each of which
// reads 16 GB at no more than 3.35 TB/s: 0.23 s, 2 % of the run. Requests that come at once have no
// rate but that served.
TEST(SimulateAnswer, SaysWhenPricesAreNotThoseOfTheRateServed) {
  for (const bool at_a_rate : {true, false}) {
    const std::string line =
        "simulate --model llama-3.1-8b --gpu h100 --num-prompts 50 --input-len 100 --output-len "
        "50 --no-intervals --no-store --request-rate " +
        std::string(at_a_rate ? "5" : "inf");
    EXPECT_EQ(nlohmann::json::parse(run_command(line + " -o json").out)["priced_at_load_rate"],
              at_a_rate);
    const auto says = HasSubstr("(at the load's rate)");
    EXPECT_THAT(run_command(line).out, at_a_rate ? testing::Matcher<std::string>(says) : Not(says));
  }
}

TEST(SimulateAnswer, SaysWhenPercentilesAreFromAHistogram) {
  SimulationRun run = run_of_two();
  EXPECT_THAT(as_text(run), Not(HasSubstr("histogram")));
  run.result.itl.exact = false;
  EXPECT_THAT(as_text(run), HasSubstr("percentiles of ITL from a histogram, within 0.05 %"));
  run.result.e2e.exact = false;
  EXPECT_THAT(as_text(run), HasSubstr("percentiles from a histogram, within 0.05 %"));
  const Json parsed = to_json(answer_of(run));
  EXPECT_FALSE(parsed["itl_s"]["exact"].get<bool>());
  EXPECT_TRUE(parsed["ttft_s"]["exact"].get<bool>());
}

TEST(SimulateAnswer, ListsStagesWhenThereAreSeveral) {
  SimulationRun run = run_of_two();
  EXPECT_THAT(as_text(run), Not(HasSubstr("Stages")));
  StageResult stage;
  stage.name = "10 /s for 60 s";
  stage.completed = 600;
  stage.offered_rate_per_s = 10;
  stage.request_rate_per_s = 9.5;
  stage.ttft = of_two(0.25);
  run.result.stages = {stage, stage};
  const std::string text = as_text(run);
  EXPECT_THAT(text, HasSubstr("Stages"));
  EXPECT_THAT(text, HasSubstr("10 /s for 60 s"));
  EXPECT_THAT(text, HasSubstr("250.0 ms"));
  const Json parsed = to_json(answer_of(run));
  ASSERT_EQ(parsed["stages"].size(), 2U);
  EXPECT_EQ(parsed["stages"][0]["name"], "10 /s for 60 s");
  EXPECT_EQ(parsed["stages"][0]["requests_completed"], 600);
  EXPECT_EQ(parsed["stages"][0]["ttft_s"]["p95"], 0.25);
}

TEST(SimulateAnswer, AStoppedRunIsNotJudged) {
  SimulationRun run = run_of_two();
  run.result.stopped = true;
  run.result.unfinished = 7;
  run.result.saturation.judged = false;
  run.result.slo = {{.slo_class = "all", .requests = 2, .achieved = 1, .judged = false}};
  const std::string text = as_text(run);
  EXPECT_THAT(text, HasSubstr("Stopped early: neither the SLO nor"));
  EXPECT_THAT(text, HasSubstr("not judged"));
  EXPECT_THAT(text, Not(HasSubstr("The SLO is met")));
  EXPECT_THAT(text, Not(HasSubstr("eeps up:")));
  const Json parsed = to_json(answer_of(run));
  EXPECT_TRUE(parsed["slo"]["met"].is_null());
  EXPECT_TRUE(parsed["slo"]["targets"][0]["met"].is_null());
  EXPECT_TRUE(parsed["saturation"]["saturated"].is_null());
}

TEST(SimulateAnswer, ASaturatedRunHoldsNoSlo) {
  // 30 prompts a second of 2,000 tokens: more than the card computes, whatever the p95 TPOT.
  const std::string load =
      "simulate --model llama-3.1-8b --gpu l40s --request-rate 30 --num-prompts 1500 "
      "--input-len 2000 --output-len 200 --no-store ";
  const CommandResult promised = run_command(load + "--slo p95:tpot:500ms");
  EXPECT_EQ(promised.exit_code, 3);
  EXPECT_THAT(
      promised.out,
      HasSubstr(
          "The SLO is not met: saturated, so latencies grow for as long as the load lasts.\n"));
  EXPECT_THAT(promised.out, HasSubstr("met"));  // as far as this run goes
  // Without a target it does not hold either.
  const CommandResult plain = run_command(load);
  EXPECT_EQ(plain.exit_code, 3);
  EXPECT_THAT(plain.out, HasSubstr("Saturated: the backlog grows"));
}

TEST(SimulateAnswer, SaysWhatTheWarmUpTook) {
  SimulationRun run = run_of_two();
  run.result.unreported = 100;
  EXPECT_THAT(as_text(run), HasSubstr("warm-up: 100 requests, left out"));
}

TEST(SimulateAnswer, CountsLostRequestsAndReplicas) {
  SimulationRun run = run_of_two();
  EXPECT_THAT(as_text(run), HasSubstr("2 completed, 0 rejected of 2"));
  run.result.lost = 3;
  run.result.replicas.resize(2);
  run.result.replicas[0].served = 567;
  run.result.replicas[0].use.prefill_tokens = 89'012;
  run.result.replicas[1].served = run.result.replicas[1].completed = 1'234;
  run.result.replicas[1].lost = 3;
  const std::string text = as_text(run);
  EXPECT_THAT(text, HasSubstr("2 completed, 0 rejected, 3 lost of 5"));
  EXPECT_THAT(text, HasSubstr("Replicas"));
  EXPECT_THAT(text, HasSubstr("Prefill tokens"));
  EXPECT_THAT(text, HasSubstr("89,012"));
  EXPECT_THAT(text, HasSubstr("567"));
  EXPECT_THAT(text, HasSubstr("1,234"));
  const Json parsed = to_json(answer_of(run));
  EXPECT_EQ(parsed["requests_lost"], 3);
  EXPECT_EQ(parsed["replicas"][0]["requests_served"], 567);
  EXPECT_EQ(parsed["replicas"][0]["requests_completed"], 0);
  EXPECT_EQ(parsed["replicas"][0]["engine"]["prefill_tokens"], 89012);
  EXPECT_EQ(parsed["replicas"][1]["requests_completed"], 1234);
}

TEST(SimulateAnswer, ShowsPrefixHitsWherePromptsShareSomething) {
  SimulationRun run = run_of_two();
  run.result.use.prefix_queries = 1000;
  run.result.use.prefix_hits = 366;
  EXPECT_THAT(as_text(run), Not(HasSubstr("prefix cache")));
  run.workload.contents = {{.content = 1, .tokens = 16}};
  EXPECT_THAT(as_text(run), HasSubstr("36.6 % of prompt tokens"));
}

}  // namespace
}  // namespace roofcast::test
