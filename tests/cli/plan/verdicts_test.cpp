// One load has one verdict, in the words and figures of every command.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/json_answer.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Every session sends 8 requests, so that 3.7 a second offer 29.6 requests/s, of which a third is
// served: follow-up turns come only after the answers that do not come.
TEST(Verdicts, SessionsThatAnswersHoldUpAreBeyondSaturation) {
  if (kSanitised) GTEST_SKIP() << "64,000 requests";
  const json answer = json_answer(
      "simulate --model llama-3.1-70b --gpu h100 --tp 4 --replicas 4 --turns 8 --think-time "
      "exponential:5 --prefix-len 2k --input-len 500 --output-len 300 --router prefix_affinity "
      "--slo p95:ttft:1s p95:tpot:60ms --request-rate 3.7 --num-prompts 8000 --no-store "
      "--no-intervals",
      3);
  EXPECT_NEAR(answer["offered_rate_per_s"], 29.6, 1e-2 * 29.6);
  EXPECT_LT(answer["request_rate_per_s"], 0.6 * 29.6);
  EXPECT_EQ(answer["saturation"]["saturated"], true);
  EXPECT_EQ(answer["slo"]["met"], false);
}

// 20,000 requests at 9.5/s are served at 8.6/s: 5 % of slack called that keeping up.
TEST(Verdicts, ABacklogOfATenthIsBeyondSaturationAtAnyLength) {
  for (const char* load : {"--request-rate 9.5 --num-prompts 20000", "--request-rate 10"}) {
    const json answer =
        json_answer(std::string("simulate --model llama-3.1-8b --gpu l40s --no-store "
                                "--no-intervals ") +
                        load,
                    3);
    EXPECT_EQ(answer["saturation"]["saturated"], true) << load;
    EXPECT_GT(answer["saturation"]["growth"]["low"], 0) << load;
  }
}

// The column of the load and the sentence beside it, of one seed: saturated, or it keeps up.
TEST(Verdicts, AVariantThatFallsBehindIsNamedSaturated) {
  const CommandResult compared = run_command(
      "whatif --model llama-3.1-8b --gpu h100 --request-rate 10 --vary gpu=l40s,a100 --seeds 1 "
      "--no-store --metric cost_usd_per_million_output_tokens");
  EXPECT_THAT(compared.out, testing::ContainsRegex("gpu=l40s +[0-9.]+ +saturated"));
  EXPECT_THAT(compared.out, testing::ContainsRegex("gpu=a100 +[0-9.]+ +keeps up"));
}

// No class promises anything, so there is no SLO to meet.
TEST(Verdicts, ClassesWithoutTargetsAreNoSlo) {
  const TemporaryFolder folder;
  std::ofstream("load.json") << R"({"schema_version": 1, "model": "llama-3.1-8b", "gpu": "h100",
    "workload": {"type": "synthetic", "num_prompts": 1000, "request_rate": 2,
                 "input_len": 100, "output_len": 20},
    "slo": {"classes": [{"name": "chat"}, {"name": "batch"}]}})";
  const CommandResult compared =
      run_command("whatif load.json --vary gpu=a100 --seeds 1 --no-store --metric cost_usd_per_h");
  EXPECT_THAT(compared.out, testing::ContainsRegex("gpu=a100 +[0-9.]+ +keeps up")) << compared.err;
  EXPECT_THAT(run_command("capacity load.json --no-store").out, HasSubstr("no SLO given"));
}

// Three turns a session at 4 sessions/s are 12 requests/s in every command.
TEST(Verdicts, OfSessionsSpeakOfTheSameRate) {
  const std::string load =
      " --model llama-3.2-1b --gpu rtx-4090 --max-model-len 8k --turns 3 --request-rate 4 "
      "--num-prompts 300 --slo p95:ttft:1s --no-store";
  const json simulated = json_answer("simulate" + load + " --no-intervals");
  const json capacity = json_answer("capacity" + load);
  const json plan = json_answer("plan" + load + " --search tp=1 --max-replicas 1");
  EXPECT_NEAR(simulated["offered_rate_per_s"], 12, 0.1);
  EXPECT_DOUBLE_EQ(capacity["asked"]["rate_per_s"], simulated["offered_rate_per_s"]);
  EXPECT_DOUBLE_EQ(simulated["session_rate_per_s"].get<double>() * 3,
                   simulated["offered_rate_per_s"]);
  const json& best = plan["ranked"][0];
  EXPECT_NEAR(best["capacity_rate_per_s"],
              best["capacity_factor"].get<double>() * simulated["offered_rate_per_s"].get<double>(),
              1e-6 * best["capacity_rate_per_s"].get<double>());
  // Both searches end within 1 %.
  EXPECT_NEAR(best["capacity_rate_per_s"], capacity["capacity"],
              0.02 * capacity["capacity"].get<double>());
}

// With 500 sessions, all of which arrive before the first is through, 38.8 requests/s seemed to
// hold; a load that lasts holds two thirds of it.
TEST(Verdicts, OfTooFewSessionsSayThatTheyAreTooFew) {
  const std::string load =
      "capacity --model llama-3.2-1b --gpu rtx-4090 --input-len 200 --output-len 50 --turns 8 "
      "--think-time exponential:5 --slo p95:ttft:1s --no-store --num-prompts ";
  const json few = json_answer(load + "100");
  ASSERT_TRUE(few.contains("doubt"));
  EXPECT_THAT(few["doubt"].get<std::string>(), HasSubstr("100 sessions (800 requests)"));
  EXPECT_THAT(run_command(load + "100").out,
              HasSubstr("Without their number (--num-prompts) the run is made longer"));
}

// --no-X of an option with a value named a file `false`.
TEST(Verdicts, AnOptionWithAValueHasNoNegation) {
  const TemporaryFolder folder;
  for (const char* command :
       {"report h200 --no-html", "trace --request-rate 4 --num-prompts 9 --no-out",
        "memory --model llama-3.1-8b --no-gpu",
        "plan --model llama-3.1-8b --gpu h100 --request-rate 3 --slo p95:ttft:1s --no-store "
        "--no-emit",
        "simulate --model llama-3.1-8b --gpu h100 --no-request-rate"}) {
    const CommandResult refused = run_command(command);
    EXPECT_EQ(refused.exit_code, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("--no-")) << command;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
  EXPECT_FALSE(std::filesystem::exists("false"));
}

// p95 TPOT is 40.2 ms of 40: none of the three calls that met.
TEST(Verdicts, OfTenReplicasAreTheSameInAllCommands) {
  if (kSanitised) GTEST_SKIP() << "115,000 requests";
  const std::string load =
      " --model llama-3.1-70b --gpu h100 --tp 4 --request-rate 50 --input-len 1500 --output-len "
      "300 --slo p95:ttft:1s p95:tpot:40ms --no-store";
  const json simulated = json_answer("simulate --replicas 10 --no-intervals" + load, 3);
  EXPECT_EQ(simulated["slo"]["met"], false);
  const json capacity = json_answer("capacity --replicas 10" + load, 3);
  EXPECT_EQ(capacity["asked"]["holds"], false);
  EXPECT_LT(capacity["headroom"], 1);
  const json plan = json_answer("plan" + load);
  EXPECT_GT(plan["ranked"][0]["units"], 10);
  EXPECT_GE(plan["ranked"][0]["probability"], 0.9);
}

// 2 prefill and 2 decode replicas are 4, as the 4 that do both.
TEST(Verdicts, PrefillAndDecodeApartAreComparedAtEqualCost) {
  const json answer = json_answer(
      "whatif --model llama-3.1-70b --gpu h100 --tp 4 --replicas 4 --input-len 3k --output-len 300 "
      "--request-rate 12 --num-prompts 200 --vary prefill_replicas=2 decode_replicas=2 --no-store "
      "--seeds 1 --metric cost_usd_per_h");
  ASSERT_EQ(answer["variants"].size(), 2U);
  for (const json& variant : answer["variants"]) {
    EXPECT_DOUBLE_EQ(variant["metrics"][0]["value"], 16 * 4.5) << variant["name"];
  }
}

TEST(Verdicts, ACacheFormatThatTheEngineLacksIsRefused) {
  for (const char* format : {"int4", "nvfp4", "int8", "fp32"}) {
    const CommandResult plan = run_command(
        std::string("plan --model llama-3.1-8b --gpu h100 --request-rate 30 --slo p95:ttft:1s "
                    "--no-store --kv-cache-dtype ") +
        format);
    EXPECT_NE(plan.exit_code, 0) << format;
    EXPECT_THAT(plan.err, HasSubstr("expected one of: bf16, fp16, fp8")) << format;
  }
}

// The RTX 4090 is cheaper than the L40S, and holds what this load needs.
TEST(Verdicts, AGpuThatTheFullContextKeepsOutIsNamedWithWhatItSaves) {
  const json answer = json_answer(
      "plan --model llama-3.1-8b --gpu l40s,rtx-4090 --request-rate 3 --num-prompts 200 --slo "
      "p95:ttft:1s p95:tpot:60ms --search tp=1 --no-store");
  EXPECT_EQ(answer["ranked"][0]["deployment"]["gpu"], "nvidia-l40s");
  EXPECT_EQ(answer["shorter_context"]["deployment"]["gpu"], "nvidia-rtx-4090");
  const CommandResult told = run_command(
      "plan --model llama-3.1-8b --gpu l40s,rtx-4090 --request-rate 3 --num-prompts 200 --slo "
      "p95:ttft:1s p95:tpot:60ms --search tp=1 --no-store");
  // $0.99 - $0.74
  EXPECT_THAT(told.out, HasSubstr("saves $0.25 per hour (25 %)"));
}

// Limits are compared with the capacity of the headline.
TEST(Verdicts, ACapacityExplainedIsThatOfTheHeadline) {
  const json answer = json_answer(
      "capacity --model llama-3.1-8b --gpu h100 --request-rate 10 --num-prompts 300 --slo "
      "p95:ttft:500ms p95:tpot:50ms --explain --no-store");
  EXPECT_DOUBLE_EQ(answer["capacity_before_relaxing"], answer["capacity"]);
}

TEST(Verdicts, TheLowestPowerIsStatedInWatts) {
  const CommandResult plan = run_command(
      "plan --model llama-3.1-8b --gpu h100 --request-rate 10 --num-prompts 200 --slo "
      "p95:ttft:500ms --search tp=1 --max-replicas 1 --objective power --no-store");
  EXPECT_THAT(plan.out, testing::ContainsRegex("Lowest power: 1 replica .* [0-9]+ of 700 W"));
  EXPECT_THAT(plan.out, testing::ContainsRegex("\\$/M output +W drawn +J/output"));
}

TEST(Verdicts, EveryAnswerStatesItsCostAndItsPower) {
  const std::string load =
      " --model llama-3.1-8b --gpu h100 --request-rate 10 --num-prompts 200 --slo p95:ttft:500ms "
      "--no-store";
  const json simulated = json_answer("simulate --no-intervals" + load);
  const json capacity = json_answer("capacity" + load);
  const json ranked = json_answer("plan --search tp=1" + load)["ranked"][0];
  for (const json& answer : {simulated, capacity, ranked}) {
    EXPECT_DOUBLE_EQ(answer["cost_usd_per_h"], 4.5);
    EXPECT_DOUBLE_EQ(answer["power_w"], 700);
    // $4.50 an hour over the tokens of an hour.
    for (const char* key : {"cost_usd_per_million_output_tokens", "cost_usd_per_million_tokens",
                            "mean_power_w", "joules_per_output_token", "joules_per_token"}) {
      EXPECT_GT(answer[key], 0) << key;
    }
  }
  // At the load's rate: the run also waits for its last answers.
  const double tokens_each = simulated["output_tokens_per_s"].get<double>() /
                             simulated["request_rate_per_s"].get<double>();
  EXPECT_NEAR(simulated["cost_usd_per_million_output_tokens"],
              4.5 * 1e6 / 3600 / (tokens_each * simulated["offered_rate_per_s"].get<double>()),
              1e-9);
  EXPECT_NEAR(
      simulated["joules_per_output_token"],
      simulated["mean_power_w"].get<double>() / simulated["output_tokens_per_s"].get<double>(),
      1e-9);
}

}  // namespace
}  // namespace roofcast::test
