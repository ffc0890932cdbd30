// roofcast capacity as users call it: its answers, its errors, what it stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/json_answer.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Prompts of 1,500 tokens and short outputs: few steps, and TTFT is the limit that fails.
const std::string kDeployment =
    "capacity --model llama-3.1-8b --gpu h100 --input-len 1500 --output-len 20 --seed 1 "
    "--num-prompts 200 --no-store ";

json capacity_answer(const std::string& flags, int exit_code) {
  return json_answer(kDeployment + flags, exit_code);
}

void expect_one_line(const CommandResult& result, int exit_code, const std::string& what) {
  EXPECT_EQ(result.exit_code, exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(what));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST(CapacityCommand, AnswersUnderStableKeys) {
  const json found = capacity_answer("--request-rate 3 --slo p95:ttft:500ms", 0);
  for (const char* key :
       {"schema_version", "inputs",           "fits",          "load",        "holds",
        "capacity",       "capacity_low",     "capacity_high", "bounded",     "monotone",
        "asked",          "headroom",         "growth",        "curve",       "points",
        "limits",         "one_replica_lost", "requests",      "simulations", "notes"}) {
    EXPECT_TRUE(found.contains(key)) << key;
  }
  EXPECT_EQ(found["load"], "rate_per_s");
  EXPECT_DOUBLE_EQ(found["headroom"].get<double>(), found["capacity"].get<double>() / 3);
  EXPECT_EQ(found["asked"]["rate_per_s"], 3);
  EXPECT_GT(found["asked"]["probability"].get<double>(), 0.5);
  EXPECT_FALSE(found["limits"]["limits"].empty());
}

// 9 $/h instead of the profile's 4.50; `plan` has a --price of its own.
TEST(CapacityCommand, TakesPricesWithoutAFile) {
  const json found = capacity_answer("--slo p95:ttft:500ms --price h100=9", 0);
  EXPECT_EQ(found["cost_usd_per_h"], 9);
  EXPECT_EQ(found["inputs"]["scenario"]["pricing"]["table"], "h100=9");
  for (const char* given : {"--price h100", "--price=h100"}) {
    expect_one_line(run_command(kDeployment + given), 2,
                    "--price: 'h100' given, expected GPU=NUMBER");
  }
  expect_one_line(run_command(kDeployment + "--price h100=free"), 2, "--price: 'free'");
  expect_one_line(run_command(kDeployment + "--prices h100=free"), 2, "--prices: 'free'");
  expect_one_line(run_command(kDeployment + "--price h100=9,l40s=2"), 2,
                  "nvidia-l40s is not among the GPUs of this question (nvidia-h100-sxm)");
}

TEST(CapacityCommand, TakesPricesOfEveryGpuOfTheQuestion) {
  const std::string load = " --request-rate 2 --num-prompts 60 --no-store --price h100=9,l40s=2 ";
  for (const char* question : {"capacity --gpu h100,l40s --slo p95:ttft:2s",
                               "whatif --gpu h100 --vary gpu=l40s --seeds 2"}) {
    const CommandResult result = run_command(question + (" --model llama-3.1-8b" + load));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

// The pipe of a shell's <(command) can be read once.
TEST(CapacityCommand, ReadsAScenarioFromAPipe) {
  const std::string scenario =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"type": "synthetic"}})";
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], scenario.data(), scenario.size()), std::ssize(scenario));
  close(ends[1]);
  const json found =
      json_answer("capacity /dev/fd/" + std::to_string(ends[0]) +
                  " --input-len 1500 --output-len 20 --num-prompts 200 --request-rate 3 "
                  "--slo p95:ttft:500ms --no-store");
  close(ends[0]);
  EXPECT_TRUE(found["asked"]["holds"].get<bool>());
}

TEST(CapacityCommand, ALoadBeyondTheCapacityIsANo) {
  const json found = capacity_answer("--request-rate 200 --slo p95:ttft:100ms", 3);
  EXPECT_FALSE(found["asked"]["holds"].get<bool>());
  EXPECT_LT(found["headroom"].get<double>(), 1);
  EXPECT_LT(found["asked"]["probability"].get<double>(), 0.5);
}

TEST(CapacityCommand, AnSloThatNothingHoldsNamesTheTargetAndTheFigure) {
  const CommandResult result = run_command(kDeployment + "--slo p95:ttft:1ms");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("No load meets the SLO: at "));
  EXPECT_THAT(result.out, HasSubstr("p95 TTFT is "));
  EXPECT_THAT(result.out, HasSubstr("of 1.0 ms"));
}

TEST(CapacityCommand, WithoutALoadThereIsNoHeadroom) {
  const json found = capacity_answer("--slo p95:ttft:500ms", 0);
  EXPECT_TRUE(found["asked"].is_null());
  EXPECT_TRUE(found["headroom"].is_null());
  EXPECT_GT(found["capacity"].get<double>(), 0);
}

TEST(CapacityCommand, AClosedLoopHasAConcurrency) {
  const json found = json_answer(
      "capacity --model llama-3.1-8b --gpu h100 --input-len 1500 --output-len 20 --num-prompts 200 "
      "--no-store --max-concurrency 2 --slo p95:ttft:500ms",
      0);
  EXPECT_EQ(found["load"], "concurrency");
  EXPECT_EQ(found["asked"]["concurrency"], 2);
}

TEST(CapacityCommand, GrowthNamesADateOnlyWhereOneIsGiven) {
  const std::string load = "--request-rate 3 --slo p95:ttft:500ms --growth 10%/month";
  EXPECT_TRUE(capacity_answer(load, 0)["growth"]["date"].is_null());
  const json dated = capacity_answer(load + " --from 2026-11-22", 0)["growth"];
  EXPECT_TRUE(dated["date"].is_string());
  // ln(headroom) / ln(1.1) months.
  const double headroom = capacity_answer(load, 0)["headroom"].get<double>();
  EXPECT_NEAR(dated["periods_until_it_fails"].get<double>(), std::log(headroom) / std::log(1.1),
              1e-9);
}

TEST(CapacityCommand, TheLossOfTheOnlyReplicaIsANo) {
  const json found = capacity_answer("--request-rate 3 --slo p95:ttft:500ms --lose-one", 3);
  EXPECT_EQ(found["one_replica_lost"][0]["replicas_left"], 0);
}

TEST(CapacityCommand, FlagsThatChangeNothingAreRefused) {
  expect_one_line(run_command(kDeployment + "--from 2026-11-22"), 2, "--growth");
  expect_one_line(run_command(kDeployment + "--min-goodput 99%"), 2, "--goodput");
  expect_one_line(run_command(kDeployment + "--growth 5%/week"), 2, "--request-rate");
}

TEST(CapacityCommand, BadInputIsOneLine) {
  expect_one_line(run_command(kDeployment + "--growth fast"), 2, "10%/month");
  expect_one_line(run_command(kDeployment + "--growth 5%/week --from today"), 2, "2026-11-22");
  expect_one_line(run_command(kDeployment + "--min-goodput 2"), 2, "--min-goodput");
  expect_one_line(run_command(kDeployment + "--min-goodput 0"), 2, "expected a share above 0");
  expect_one_line(run_command(kDeployment + "--goodput-share 2"), 2, "--min-goodput");
  expect_one_line(run_command("capacity --no-store --model llama-3.1-8b --gpu h100 --num-prompts 1 "
                              "--request-rate 1"),
                  1, "at least two");
}

TEST(CapacityCommand, ARateThatNobodyGaveIsNotNamed) {
  const CommandResult result = run_command(kDeployment + "--slo p95:ttft:1s");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("200 requests at any rate"));
}

TEST(CapacityCommand, WhatDoesNotFitIsANo) {
  const CommandResult result =
      run_command("capacity --model llama-3.1-70b --gpu h100 --no-store --slo p95:ttft:1s");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("does not fit"));
}

TEST(CapacityCommand, KeepsARunOfItsOwnKind) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(
      "capacity --model llama-3.1-8b --gpu h100 --input-len 1500 --output-len 20 --num-prompts 200 "
      "--request-rate 3 --slo p95:ttft:500ms");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("run 1 stored in roofcast.db"));
  const json run = json::parse(run_command("runs 1 -o json").out);
  EXPECT_THAT(run.dump(), HasSubstr("capacity_rate_per_s"));
}

TEST(SimulateCommand, ExplainSaysWhichLimitBinds) {
  const CommandResult result = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 30 --input-len 64 --output-len 64 "
      "--max-num-seqs 2 --no-store --explain -o json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json limits = json::parse(result.out)["limits"];
  EXPECT_EQ(limits["binding"], "max_num_seqs");
  EXPECT_EQ(limits["yardstick"], "mean E2E");
}

}  // namespace
}  // namespace roofcast::test
