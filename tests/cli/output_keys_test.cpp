// The keys that -o json promises, per command, and a few answers known from elsewhere.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/json_answer.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;

void expect_keys(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) EXPECT_TRUE(object.contains(key)) << key;
}

TEST(OutputKeys, EveryAnswerSaysItsSchemaAndInputs) {
  for (const char* line : {"models", "gpus", "models llama-3.1-8b", "gpus h100",
                           "staircase --prompt 10 --generate 5"}) {
    expect_keys(json_answer(line), {"schema_version", "tool_version", "command", "inputs"});
  }
}

TEST(OutputKeys, ModelsCountParametersBytesAndKv) {
  const json model = json_answer("models llama-3.1-8b");
  // 16,060,522,496 bytes in the published safetensors index, two a parameter.
  EXPECT_EQ(model["parameters_total"], 8030261248);
  EXPECT_EQ(model["weight_bytes"], 16060522496);
  // 32 layers x 2 x 8 KV heads x 128 x 2 bytes.
  EXPECT_EQ(model["kv_bytes_per_token"], 131072);
  expect_keys(model, {"parameters_active", "parameters_active_without_input_embedding"});
}

TEST(OutputKeys, MemoryTermsSumToTheDriversTotal) {
  const json plan = json_answer("memory --model llama-3.1-8b --gpu h100");
  expect_keys(plan, {"fits", "reason", "kv_blocks", "kv_tokens", "max_batch", "max_concurrency",
                     "solution", "remedies"});
  double sum = 0;
  for (const json& term : plan["terms"]) sum += term["bytes"].get<double>();
  EXPECT_NEAR(sum, plan["memory_visible_bytes"].get<double>(), 1.0);
}

TEST(OutputKeys, KvOffloadingNamesItsBackend) {
  const json plan =
      json_answer("memory --model llama-3.1-8b --gpu h100 --kv-offloading-size 64GiB");
  EXPECT_EQ(plan["inputs"]["engine"]["kv_offloading"]["backend"], "native");
}

TEST(OutputKeys, MemoryWithoutPicturesHasNoEncoder) {
  const auto counts_encoder = [](const std::string& flags) {
    const json plan = json_answer("memory --model qwen3-vl-8b --gpu h100 " + flags);
    for (const json& term : plan["terms"]) {
      if (term["name"] == "weights.vision") return true;
    }
    return false;
  };
  EXPECT_TRUE(counts_encoder(""));
  EXPECT_FALSE(counts_encoder("--limit-mm-per-prompt 0"));
}

TEST(OutputKeys, SentencesNameInputsByTheirKeysAndOnTheTerminalByTheirFlags) {
  // A single prompt never waits, and no GPU answers within a microsecond.
  const std::string line =
      "simulate --model llama-3.1-8b --gpu h100 --request-rate 1 --num-prompts 1 --slo "
      "p95:ttft:1us --no-store";
  const json answer = json_answer(line, 3);
  ASSERT_EQ(answer["advice"].size(), 1U);
  const auto advice = answer["advice"][0].get<std::string>();
  EXPECT_THAT(advice, testing::HasSubstr("(`tensor_parallel_size`)"));
  EXPECT_THAT(advice, testing::Not(testing::HasSubstr("--")));
  EXPECT_THAT(run_command(line).out, testing::HasSubstr("(--tensor-parallel-size)"));
}

TEST(OutputKeys, EstimateReportsTimesRatesAndOperators) {
  const json estimate =
      json_answer("estimate --model llama-3.1-8b --gpu h100 --batch 8 --isl 1000 --osl 100");
  expect_keys(estimate, {"prefill_s", "decode_step_s", "output_tokens_per_s", "mfu", "mbu",
                         "ridge_flops_per_byte", "operators"});
  EXPECT_GT(estimate["mfu"].get<double>(), 0.0);
  EXPECT_LT(estimate["mfu"].get<double>(), 1.0);
  EXPECT_GT(estimate["mbu"].get<double>(), 0.0);
  EXPECT_LT(estimate["mbu"].get<double>(), 1.0);
}

TEST(OutputKeys, ACalibratedDeviceStatesCeilingsAndCurves) {
  const json measured = json_answer("gpus " ROOFCAST_SOURCE_DIR
                                    "/tests/golden/profiles/imaginary-gpu.json")["measured"];
  expect_keys(measured, {"device", "identity", "date", "tool", "protocol", "versions", "clock_hz",
                         "dropped_samples", "rejected", "kernel_floor_s", "eager_launch_s",
                         "graph_launch_s", "engine_step_s"});
  // The fastest product: 2 * 512 * 3072 * 768 FLOPs, timed at 45.9 us.
  const json& compute = measured["ceilings"].at(0);
  EXPECT_EQ(compute["name"], "bf16");
  EXPECT_EQ(compute["unit"], "flops_per_s");
  EXPECT_NEAR(compute["reached"].get<double>(), 2.0 * 512 * 3072 * 768 / 45.9e-6, 1e6);
  const json& curve = measured["curves"].at(0);
  expect_keys(curve, {"family", "shape", "kernel", "median_error", "p90_error"});
  // 2304 x 768 at one token: (2304 * 768 + 2304 + 768) * 2 bytes at 1 TB/s take 3.545 us of 8.81.
  const json& point = curve["points"].at(0);
  expect_keys(point, {"x", "y", "time_s", "relative_spread", "samples"});
  EXPECT_EQ(point["ceiling"], "bandwidth");
  EXPECT_NEAR(point["share_of_ceiling"].get<double>(), 3.545 / 8.81, 1e-4);
}

TEST(OutputKeys, StaircaseGivesTheKnownCounts) {
  // G * P + G * (G - 1) / 2 against P + G: 50 * 100 + 50 * 49 / 2 = 6,225 against 150.
  const json small = json_answer("staircase --prompt 100 --generate 50");
  EXPECT_EQ(small["naive_kv_computations"], 6225);
  EXPECT_EQ(small["cached_kv_computations"], 150);
  EXPECT_DOUBLE_EQ(small["waste_factor"].get<double>(), 41.5);
  EXPECT_EQ(json_answer("staircase --prompt 2000 --generate 1000")["naive_kv_computations"],
            2499500);
  // 2,000 + 2,001 + ... + 2,199.
  EXPECT_EQ(json_answer("staircase --prompt 2000 --generate 200")["attention_positions"], 419900);
}

TEST(OutputKeys, SimulateReportsLatencyThroughputAndSlo) {
  const json result = json_answer(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 50 --request-rate 5 --no-store "
      "--goodput ttft:5000 tpot:500 --slo p95:ttft:100s");
  expect_keys(result, {"requests_completed", "makespan_s", "request_rate_per_s",
                       "output_tokens_per_s", "preemptions", "goodput_per_s", "slo"});
  for (const char* metric : {"ttft_s", "tpot_s", "itl_s", "e2e_s"}) {
    expect_keys(result[metric], {"mean", "p50", "p90", "p95", "p99"});
  }
  EXPECT_EQ(result["requests_completed"], 50);
  EXPECT_TRUE(result["slo"]["met"]);
}

}  // namespace
}  // namespace roofcast::test
