// Answers of `roofcast plan` to correct and to wrong input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/json_answer.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;

const std::string kSearch =
    "plan --model llama-3.1-8b --request-rate 10 --num-prompts 100 --output-len 32 "
    "--search tp=1,2 --max-replicas 4 --top 2 ";
const std::string kLimits = "--slo p95:ttft:500ms p95:tpot:40ms ";

CommandResult plan(const std::string& more) { return run_command(kSearch + more); }

void expect_refused(const std::string& more, const std::string& about) {
  expect_misuse(kSearch + more + " --no-store", about);
}

TEST(PlanCommand, SaysTheCheapestAloudAndHowToRunIt) {
  const CommandResult result = plan("--gpu h100,l40s " + kLimits + "--no-store");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Cheapest: "), std::string::npos);
  EXPECT_NE(result.out.find("meets the SLO with probability"), std::string::npos);
  EXPECT_NE(result.out.find("vllm serve meta-llama/Llama-3.1-8B"), std::string::npos);
}

TEST(PlanCommand, PromisesItsKeys) {
  const CommandResult result = plan("--gpu h100,l40s " + kLimits + "--no-store -o json");
  const json answer = json::parse(result.out);
  for (const char* key : {"inputs", "holds", "answer", "ranked", "closest", "rejected", "shapes",
                          "candidates", "simulations", "finalist_simulations"}) {
    EXPECT_TRUE(answer.contains(key)) << key;
  }
  const json& first = answer["ranked"][0];
  for (const char* key : {"deployment", "units", "result", "gpus", "cost_usd_per_h", "pareto",
                          "cost_usd_per_million_output_tokens", "cost_usd_per_million_tokens",
                          "power_w", "mean_power_w", "joules_per_output_token", "joules_per_token",
                          "probability", "capacity_factor", "capacity_rate_per_s", "launch"}) {
    EXPECT_TRUE(first.contains(key)) << key;
  }
  EXPECT_EQ(first["result"]["targets"].size(), 2U);
}

TEST(PlanCommand, AnswersNoWithTheClosest) {
  // 16 GB of weights over 3.35 TB/s are 4.8 ms, over two GPUs 2.4 ms.
  const CommandResult result = plan("--gpu h100 --slo p95:tpot:1ms --no-store");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("No deployment"), std::string::npos);
  EXPECT_NE(result.out.find("even unloaded; the limit is 1"), std::string::npos);
}

TEST(PlanCommand, NamesTheLimitThatContradicts) {
  const CommandResult result = plan("--gpu h100 --budget 1 " + kLimits + "--no-store");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("the budget of $1.00 per hour allows 0"), std::string::npos);
}

TEST(PlanCommand, RefusesWhatIsMissingOrIdle) {
  expect_refused("--gpu h100", "plan needs an SLO");
  expect_refused(kLimits, "--gpu is missing");
  expect_refused("--gpu h100 --available l40s=2 " + kLimits, "not among the GPUs");
  expect_refused("--gpu h100 --available h100 " + kLimits, "expected GPU=NUMBER");
  expect_refused("--gpu h100 --goodput-share 0.9 " + kLimits, "needs --goodput");
  expect_refused("--gpu mi325x " + kLimits, "--price amd-mi325x=2.5");
  expect_refused("--gpu h100 --objective joy " + kLimits, "cost, gpus or power");
  expect_refused("--gpu h100 --probability 1 " + kLimits, "at most 0.9999");
  expect_refused("--gpu h100 --budget -1 " + kLimits, "--budget");
  expect_refused("--gpu h100 --search speed=1,2 " + kLimits, "is not a knob that can be searched");
}

TEST(PlanCommand, RefusesAMisspeltEngineAmongOthers) {
  expect_refused("--gpu h100 --search engine=vllm-0.19,sglnag " + kLimits, "did you mean 'sglang'");
}

TEST(PlanCommand, AddsNamedGpusToAny) {
  // The MI355X has no price, so that "any" leaves it out.
  const CommandResult result = run_command(
      "plan --model llama-3.1-8b --request-rate 1 --num-prompts 20 --gpu any,mi355x --price "
      "mi355x=0.01 --search tp=1 --max-replicas 1 --no-store -o json " +
      kLimits);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out);
  EXPECT_EQ(answer["ranked"][0]["deployment"]["gpu"], "amd-mi355x");
  EXPECT_GT(answer["inputs"]["gpus"].size(), 2U);
}

TEST(PlanCommand, HasNoReasonsWhereAllAreRanked) {
  const CommandResult result = run_command(
      "plan --model llama-3.1-8b --request-rate 1 --num-prompts 20 --gpu h100 --search tp=1 "
      "--max-replicas 1 --no-store " +
      kLimits);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("rejected"), std::string::npos) << result.out;
}

TEST(PlanCommand, ThatNothingCanRunIsAnErrorWithTheReason) {
  // 32 attention heads cannot be split over 64 GPUs.
  const CommandResult result = run_command(
      "plan --model llama-3.1-8b --request-rate 10 --num-prompts 10 --gpu h100 "
      "--search tp=64 --no-store " +
      kLimits);
  EXPECT_EQ(result.exit_code, 2);  // as for simulate --tp 64
  EXPECT_NE(result.err.find("none of 1 shape can run; 64x"), std::string::npos) << result.err;
}

TEST(PlanCommand, SaysWhenABreakingPointRestsOnFewRequests) {
  // An H100 computes 1,024 tokens of an 8B model in some 30 ms (16 TFLOP at half of 989 TFLOP/s),
  // so it breaks near 30 requests/s; each then stays 32 steps of at least 5 ms (16 GB over 3.35
  // TB/s) and at most the promised 40 ms and 500 ms before: ten stays are 48 to 540 requests.
  const std::string line =
      "plan --model llama-3.1-8b --gpu h100 --request-rate 10 --search tp=1 "
      "--max-replicas 1 --output-len 32 --no-store " +
      kLimits;
  const std::string warning = "too few requests to be sure of that rate";
  const CommandResult few = run_command(line + "--num-prompts 20");
  EXPECT_NE(few.out.find(warning), std::string::npos) << few.out;
  const CommandResult many = run_command(line + "--num-prompts 16000");
  EXPECT_EQ(many.exit_code, 0) << many.err;
  EXPECT_EQ(many.out.find(warning), std::string::npos) << many.out;
}

TEST(PlanCommand, IsListedWithItsAnswerAmongTheRuns) {
  const TemporaryFolder folder;
  EXPECT_EQ(plan("--gpu h100 " + kLimits + "--store plans.db").exit_code, 0);
  EXPECT_NE(run_command("runs --store plans.db").out.find("Cheapest"), std::string::npos);
}

TEST(PlanCommand, WritesAManifestOfTheBest) {
  const TemporaryFolder folder;
  const CommandResult result = plan("--gpu h100 " + kLimits + "--no-store --kubernetes m.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string text = text_in("m.yaml");
  for (const char* part :
       {"kind: Deployment", "kind: Service", "nvidia.com/gpu: 1", "  name: llama-3-1-8b\n",
        "vllm serve meta-llama/Llama-3.1-8B", "--port 8000"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace roofcast::test
