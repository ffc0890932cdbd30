#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/json_answer.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CommandResult estimate(const std::string& flags) {
  return run_command("estimate --model llama-2-7b --gpu a100-80gb " + flags);
}

TEST(EstimateCommand, SaysWhatABatchDoes) {
  const CommandResult result = estimate("--batch 1-512*2 --isl 1k --osl 128");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("products become compute-bound (above 153.0 FLOP/byte) from 162 "
                        "sequences, attention never"));
  EXPECT_THAT(result.out, HasSubstr("beyond memory"));
}

TEST(EstimateCommand, AModelThatIsToldToPoolGeneratesNothing) {
  const auto generates = [](const std::string& flags) -> bool {
    return nlohmann::json::parse(estimate(flags + " -o json").out)["generates"];
  };
  EXPECT_TRUE(generates(""));
  EXPECT_FALSE(generates("--pooling"));
}

TEST(EstimateCommand, AStaircaseHasTheTokensOfTheLessonUnlessTheyAreGiven) {
  const auto inputs = nlohmann::json::parse(run_command("staircase -o json").out)["inputs"];
  EXPECT_EQ(inputs["prompt_tokens"], 500);
  EXPECT_EQ(inputs["generated_tokens"], 200);
}

// 32 prompts of 4,000 tokens are more than a step of vLLM takes (8,192 tokens); one of 1,024 is
// not.
TEST(EstimateCommand, SaysWhichTimeOfPrefillCounts) {
  const std::string asked = "estimate --model llama-3.1-8b --gpu h100 ";
  const CommandResult several = run_command(asked + "--batch 32 --isl 4000");
  EXPECT_THAT(several.out, HasSubstr("the engine computes these prompts in several steps"));
  EXPECT_THAT(several.out, HasSubstr("prefill: as one step"));
  const CommandResult one = run_command(asked);
  EXPECT_THAT(one.out, Not(HasSubstr("several steps")));
  EXPECT_THAT(one.out, HasSubstr("prefill: whole step"));
}

// TensorRT-LLM captures decodes of 1 to 32, 64 and 128 sequences and pads none to the next.
TEST(EstimateCommand, SaysThatNoGraphHoldsADecode) {
  const std::string asked =
      "estimate --model qwen3-32b --gpu h100 --engine trtllm-1.2 --isl 100 --osl 8 ";
  EXPECT_THAT(run_command(asked + "--tp 8 --batch 129").out,
              HasSubstr("No CUDA graph holds a decode of 129 sequences (the largest holds 128), so "
                        "its kernels are launched one by one. In a graph (--cuda-graph-max-bs 129) "
                        "the step would take "));
  EXPECT_THAT(run_command(asked + "--tp 4 --dp 2 --batch 66").out,
              HasSubstr("a decode of 33 sequences on each data-parallel rank (between captured "
                        "sizes and not padded), so its kernels are launched one by one. In a graph "
                        "(--cuda-graph-padding on) the step would take "));
  EXPECT_THAT(run_command(asked + "--tp 8 --batch 32,33-63+10,129").out,
              HasSubstr("No CUDA graph holds a decode of these batches, so their kernels are "
                        "launched one by one: 33, 43, 53, 63, 129 (--cuda-graph-max-bs 129, "
                        "--cuda-graph-padding on)."));
  EXPECT_THAT(run_command(asked + "--tp 8 --batch 33-63+5").out,
              HasSubstr("one by one: 33, 38, 43, ..., 63 (--cuda-graph-padding on)."));
  EXPECT_THAT(run_command(asked + "--tp 8 --batch 32,64").out, Not(HasSubstr("CUDA graph")));
}

TEST(EstimateCommand, PlainNumbersGoToSpreadsheets) {
  const CommandResult result = estimate("--batch 1,2 --isl 1k -o csv");
  EXPECT_THAT(result.out,
              HasSubstr("Batch,Prompt,K/V (GB),Time (ms),± (%),Least (ms),Tokens/s,Products,"));
  EXPECT_THAT(result.out, HasSubstr("\n2,1000,"));
}

TEST(EstimateCommand, WhatDoesNotFitExitsWithThree) {
  const std::string large = "estimate --model llama-2-70b --gpu a100-80gb ";
  EXPECT_EQ(run_command(large + "--batch 1,2").exit_code, 3);
  const CommandResult one = run_command(large + "--isl 128 --osl 2");
  EXPECT_EQ(one.exit_code, 3);
  // 68.7 B weights of 2 bytes at 2,039 GB/s take 67.4 ms: 1 - 2.039 / 312 of the FLOP/s idle.
  EXPECT_THAT(one.out, HasSubstr("67.4 ms"));
  EXPECT_THAT(one.out, HasSubstr("99.3 % of the peak FLOP/s is idle"));
}

TEST(EstimateCommand, WhatPoolsHasNoDecodeStep) {
  for (const char* model : {"bge-m3", "bge-large-en-v1.5"}) {
    const std::string asked =
        std::string("estimate --gpu l40s --isl 512 --model ") + model + " --batch 8";
    const CommandResult one = run_command(asked);
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_THAT(one.out, HasSubstr("8 sequences of 512 tokens, pooled"));
    EXPECT_THAT(one.out, HasSubstr("inputs/s"));
    EXPECT_THAT(one.out, Not(HasSubstr("ecode")));
    EXPECT_THAT(run_command(asked + " --ops").out,
                AllOf(HasSubstr("\n  Prefill, as one step of all prompts: "),
                      HasSubstr("\n  prefill_attention "), Not(HasSubstr("ecode step"))));
    EXPECT_THAT(run_command(asked + ",16").out,
                AllOf(HasSubstr("nothing is decoded"), Not(HasSubstr("decode step"))));
    const nlohmann::json json = nlohmann::json::parse(run_command(asked + " -o json").out);
    EXPECT_FALSE(json["generates"].get<bool>());
    EXPECT_EQ(json["decode_step_s"].get<double>(), 0);
    EXPECT_NEAR(json["output_tokens_per_s"].get<double>() * json["prefill_s"].get<double>(), 8,
                1e-9);
  }
}

// Nothing is known of how a chip of four facts runs kernels; of an H200 with less bandwidth, that
// it is nearly an H200.
TEST(EstimateCommand, AProfileOfFourFactsIsNoSurerThanOneWithTheKernelsOfACousin) {
  const TemporaryFolder folder;
  std::ofstream("four.json") << R"({"memory_bytes": 141e9, "memory_bandwidth_bytes_per_s": 4.2e12,
      "dense_peak_flops_per_s": {"bf16": 989e12, "fp8": 1979e12}})";
  nlohmann::json cousin = nlohmann::json::parse(run_command("gpus h200 --as-profile").out);
  cousin["memory_bandwidth_bytes_per_s"] = 4.2e12;
  EXPECT_THAT(run_command("gpus ./four.json").out, HasSubstr("no such chip"));
  EXPECT_EQ(json_answer("gpus ./four.json")["untimed_chip"], true);
  EXPECT_THAT(run_command("simulate --model llama-3.1-8b --gpu ./four.json --num-prompts 5 "
                          "--no-store")
                  .out,
              HasSubstr("nothing was timed on this chip"));
  std::ofstream("cousin.json") << cousin.dump();
  for (const char* model : {"llama-3.1-8b", "llama-3.1-8b --quantization fp8", "qwen3-30b-a3b"}) {
    const auto summary_on = [&](const char* gpu) {
      return json_answer(std::string("estimate --model ") + model + " --gpu " + gpu)["summary"];
    };
    const nlohmann::json four = summary_on("./four.json");
    const nlohmann::json known = summary_on("./cousin.json");
    for (const char* step : {"prefill", "decode"}) {
      EXPECT_GE(four[step]["relative_uncertainty"].get<double>(),
                known[step]["relative_uncertainty"].get<double>())
          << model << " " << step;
    }
  }
}

TEST(EstimateCommand, ExpertsExchangeByTheBackendGiven) {
  const std::string flags =
      "estimate --model qwen3-30b-a3b --gpu h100 --dp 2 --ep --batch 8 --isl 128 --osl 2 --ops ";
  EXPECT_THAT(run_command(flags).out, HasSubstr("expert_gather"));
  EXPECT_THAT(run_command(flags + "--all2all-backend deepep").out, HasSubstr("expert_dispatch"));
}

TEST(EstimateCommand, WritesAPageOfSeveralBatches) {
  const TemporaryFolder folder;
  const CommandResult result = estimate("--batch 1-64*4 --html page.html");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("written to page.html"));
  EXPECT_GT(std::filesystem::file_size("page.html"), 10'000U);
}

void expect_refused(const CommandResult& result, const std::string& reason) {
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr(reason));
}

TEST(EstimateCommand, FlagsThatWouldChangeNothingAreRefused) {
  expect_refused(estimate("--html page.html"), "--html: needs several batches");
  expect_refused(estimate("--batch 1,2 --ops"), "--ops: needs a single batch");
  for (const char* knob : {"--enable-prefix-caching", "--disable-radix-cache", "--watermark 0.1",
                           "--scheduling-policy priority", "--long-prefill-token-threshold 8"}) {
    expect_refused(estimate(knob), "would change nothing here");
  }
  expect_refused(run_command("memory --model llama-3.1-8b --gpu h100 --watermark 0.1"),
                 "would change nothing here");
  // Recurrent states take a row more with it.
  EXPECT_EQ(run_command("memory --model qwen3-next-80b-a3b --gpu h200 --tp 4 "
                        "--enable-prefix-caching")
                .exit_code,
            0);
  // A server's command line has such flags for the server.
  EXPECT_EQ(run_command("estimate --gpu h100 --from-cmd 'vllm serve "
                        "meta-llama/Llama-3.1-8B-Instruct --enable-prefix-caching'")
                .exit_code,
            0);
}

TEST(EstimateCommand, SequencesLongerThanTheModelsAreRefused) {
  const CommandResult result = estimate("--isl 4000 --osl 97");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.err,
      HasSubstr(
          "--input-len: 4000 and 97 output tokens are longer than --max-model-len, 4096 tokens"));
  EXPECT_EQ(estimate("--isl 4000 --osl 96").exit_code, 0);
}

// The RTX 4090's profile has efficiencies of bf16 products only: AWQ and fp8 products come from
// defaults, and no percentage compares them with fitted ones.
TEST(EstimateCommand, ComparesOnlyTimesOfLikeSources) {
  const std::string line = "estimate --model llama-2-7b --gpu rtx-4090 ";
  EXPECT_THAT(run_command(line).out, HasSubstr("other source"));
  const nlohmann::json answer = nlohmann::json::parse(run_command(line + "-o json").out);
  for (const auto& variant : answer["variants"]) {
    const auto& source = variant["decode_step_source"];
    const std::string name = variant["name"];
    const bool by_default = name.starts_with("awq") || name.starts_with("fp8 weights");
    EXPECT_EQ(source["products_by_default"], by_default) << name;
    EXPECT_GT(source["relative_uncertainty"], 0.0);
  }
}

// The A100 has no fp8: its weights are multiplied as bf16. The H100 has.
TEST(EstimateCommand, SaysWhichWeightsAreWidened) {
  const auto widened_on = [](const std::string& line) {
    std::vector<std::string> names;
    const auto answer = json_answer("estimate --model llama-2-7b " + line);
    for (const auto& variant : answer["variants"]) {
      if (!variant.contains("widened")) continue;
      EXPECT_EQ(variant["widened"], "fp8");
      names.push_back(variant["name"]);
    }
    return names;
  };
  EXPECT_THAT(widened_on("--gpu a100-80gb"),
              testing::ElementsAre("fp8 weights", "fp8 weights and KV cache"));
  EXPECT_THAT(widened_on("--gpu a100-80gb --quantization fp8"), testing::Contains("as given"));
  EXPECT_THAT(widened_on("--gpu h100"), testing::IsEmpty());
  const auto sentence = HasSubstr("The profile has no peak of fp8: such weights are widened");
  EXPECT_THAT(estimate("").out, sentence);
  EXPECT_THAT(run_command("estimate --model llama-2-7b --gpu h100").out, Not(sentence));
}

TEST(StaircaseCommand, FlagsThatWouldChangeNothingAreRefused) {
  const std::string counted = "staircase --prompt 10 --generate 5 ";
  for (const char* flag : {"--acceptance 0.5", "--tp 2", "--engine vllm", "--kv-cache-dtype fp8"}) {
    expect_refused(run_command(counted + flag), "would change nothing without --gpu");
  }
  const std::string timed = counted + "--model llama-3.1-8b --gpu h100 ";
  expect_refused(run_command(timed + "--num-speculative-tokens 3"), "needs --acceptance");
  expect_refused(run_command(timed + "--acceptance 0.5 --num-speculative-tokens 0"),
                 "--acceptance: needs --num-speculative-tokens");
  expect_refused(run_command(timed + "--watermark 0.5"), "which requests run when");
  EXPECT_EQ(run_command(timed + "--acceptance 0.5").exit_code, 0);
}

}  // namespace
}  // namespace roofcast::test
