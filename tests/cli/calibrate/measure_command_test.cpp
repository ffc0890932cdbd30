// roofcast measure on the CPU: the form of its answer, not the speed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/json_answer.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kTiny = "measure --model gpt2 --layers 1 --isl 8 --osl 4 --threads 1 ";

/// A single run of a batch.
const std::string kOnce = "--repeats 1 --warm-ups 0 ";

TEST(Measure, RunsABatchAsATextbookProfilerDoes) {
  const json result = json_answer(kTiny + kOnce + "--batch 3 --no-store");
  EXPECT_EQ(result["command"], "measure");
  EXPECT_EQ(result["requests_completed"], 3);
  EXPECT_EQ(result["inputs"]["layers"], 1);
  // One step for all prompts, three for the tokens after the first.
  EXPECT_EQ(result["steps"], 4);
  EXPECT_EQ(result["textbook"]["decode_steps"], 3);
  EXPECT_GT(result["textbook"]["prefill_s"].get<double>(), 0);
  EXPECT_GT(result["copy_bandwidth_bytes_per_s"].get<double>(), 0);
}

TEST(Measure, ShowsTheStaircase) {
  const json result = json_answer(kTiny + kOnce + "--naive --no-store");
  EXPECT_EQ(result["staircase"]["naive_token_s"].size(), 4U);
  EXPECT_EQ(result["staircase"]["cached_token_s"].size(), 4U);
}

TEST(Measure, KeepsTheStaircaseForItsReport) {
  const TemporaryFolder folder;
  const std::string store = " --store " + (folder.path() / "runs.db").string();
  EXPECT_EQ(run_command(kTiny + "--repeats 2 --naive" + store).exit_code, 0);
  const std::string metrics = json_answer("runs 1" + store)["metrics"].dump();
  for (const char* key : {"token_000001", "token_000004_p25", "token_000004_p75", "prefill_s"}) {
    EXPECT_THAT(metrics, HasSubstr(key));
  }
  const CommandResult report = run_command("report 1 --json -" + store);
  EXPECT_THAT(report.out, HasSubstr("measured_staircase")) << report.err;
}

TEST(Measure, ServesALoadWithTheSimulatorsScheduler) {
  const json result = json_answer(kTiny + "--num-prompts 5 --request-rate 100 --no-store");
  EXPECT_EQ(result["requests_completed"], 5);
  EXPECT_FALSE(result.contains("textbook"));
  EXPECT_EQ(result["ttft_s"].contains("p99"), true);
}

TEST(Measure, KeepsARunToCompare) {
  const TemporaryFolder folder;
  const std::string store = " --store " + (folder.path() / "runs.db").string();
  EXPECT_EQ(run_command(kTiny + kOnce + store).exit_code, 0);
  EXPECT_EQ(run_command(kTiny + kOnce + store).exit_code, 0);
  const json runs = json_answer("runs" + store);
  ASSERT_EQ(runs["runs"].size(), 2U);
  EXPECT_EQ(runs["runs"][0]["kind"], "measure");
  EXPECT_EQ(runs["runs"][0]["kind_title"], "measured run");
  const json comparison = json_answer("runs compare 1 2" + store);
  EXPECT_THAT(comparison["metrics"].dump(), HasSubstr("decode_step_s"));
}

TEST(Measure, RunsInTheFormatAskedFor) {
  const json result = json_answer(kTiny + "--no-store --dtype fp32");
  EXPECT_EQ(result["inputs"]["element"], "fp32");
}

TEST(Measure, ServesWithAnyEnginesScheduler) {
  for (const char* engine : {"vllm", "sglang", "trtllm", "static"}) {
    if (test::kSanitised && engine != std::string("trtllm")) continue;  // whose code is the same
    const json result = json_answer(kTiny + kOnce + "--batch 2 --no-store --engine " + engine);
    EXPECT_EQ(result["requests_completed"], 2) << engine;
  }
}

TEST(Measure, PutsTheEstimateOfAProfileBeside) {
  // Any profile answers; how well is not asked here.
  const json result = json_answer(kTiny + kOnce + "--batch 2 --gpu h100 --no-store");
  EXPECT_EQ(result["prediction"]["decode"]["steps"], 3);
  EXPECT_EQ(result["prediction"]["prefill"]["steps"], 1);
}

TEST(Measure, RefusesFlagsThatWouldChangeNothing) {
  const auto refusal = [](const std::string& flags) {
    const CommandResult result = run_command(kTiny + "--no-store " + flags);
    EXPECT_EQ(result.exit_code, 2) << flags;
    return result.err;
  };
  EXPECT_THAT(refusal("--batch 4 --num-prompts 10"),
              HasSubstr("--batch and --num-prompts are mutually exclusive"));
  EXPECT_THAT(refusal("--repeats 4 --num-prompts 10"),
              HasSubstr("--repeats and --num-prompts are mutually exclusive"));
  EXPECT_THAT(refusal("--keep-requests"), HasSubstr("--keep-requests and --no-store"));
  EXPECT_THAT(refusal("--batch 4 --request-rate 5"), HasSubstr("--batch and --request-rate"));
  EXPECT_THAT(refusal("--naive --num-prompts 5"), HasSubstr("--naive and --num-prompts"));
  EXPECT_THAT(refusal("--batch 3 --max-num-seqs 2"), HasSubstr("less than the 3 requests"));
  for (const char* between : {"--watermark 0.1", "--scheduling-policy priority"}) {
    EXPECT_THAT(refusal(between), HasSubstr("there is a single request")) << between;
  }
  EXPECT_THAT(refusal("--batch 2 --scheduling-policy priority"),
              HasSubstr("only requests of a trace have priorities"));
}

TEST(Measure, ARunInWhichNothingRanIsAnError) {
  const CommandResult result = run_command(kTiny + "--no-store --max-model-len 10");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no request was served: all 1 are longer"));
}

TEST(Measure, RefusesInALine) {
  const auto refusal = [](const std::string& line) { return run_command(line).err; };
  EXPECT_THAT(refusal("measure --no-store"), HasSubstr("--model is missing"));
  EXPECT_THAT(refusal("measure --model gpt2 --layers 99 --no-store"), HasSubstr("12 layers"));
  EXPECT_THAT(refusal("measure --model gpt2 --device tpu --no-store"), HasSubstr("--device"));
  EXPECT_THAT(refusal("measure --model gpt2 --naive --batch 2 --no-store"),
              HasSubstr("--naive runs a single request"));
  EXPECT_THAT(refusal("measure --model deepseek-v3 --layers 1 --no-store"),
              HasSubstr("latent attention"));
  EXPECT_THAT(refusal("measure --model gpt2 --batch 1 --input-len uniform:1:5 --no-store"),
              HasSubstr("one length"));
  EXPECT_THAT(refusal(kTiny + "--no-store --tp 2"), HasSubstr("single device"));
  EXPECT_THAT(refusal(kTiny + "--no-store --quantization nvfp4"), HasSubstr("fp32, fp16 or bf16"));
  EXPECT_THAT(refusal(kTiny + "--no-store --kv-cache-dtype fp8"), HasSubstr("cannot be run"));
  // GPT-2 has 1,024 positions.
  EXPECT_THAT(refusal("measure --model gpt2 --layers 1 --isl 1020 --osl 5 --no-store"),
              HasSubstr("exceeds the longest context of gpt2: 1,024"));
}

}  // namespace
}  // namespace roofcast::test
