#include "validate/measured_case.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace roofcast {
namespace {

using nlohmann::json;

TEST(MeasuredCase, ASettingBecomesAScenario) {
  MeasuredRun run{.origin = "r.json"};
  run.setting = {.model = "meta-llama/Llama-3.1-8B",
                 .gpu = "h100",
                 .engine = "vllm",
                 .engine_version = "v0.11.1rc2.dev3+g1a2b",
                 .quantization = "fp8",
                 .tensor = 2,
                 .request_rate_per_s = 4,
                 .max_concurrency = 32,
                 .requests = 100,
                 .mean_input_tokens = 511.6,
                 .mean_output_tokens = 128};
  run.setting.other = {{"max_num_seqs", "256"},
                       {"enforce_eager", "true"},
                       {"kv_cache_dtype", "\"auto\""},
                       {"max_model_len", "null"},
                       {"label", "\"a label\""}};
  const json expected = {{"model", "meta-llama/Llama-3.1-8B"},
                         {"gpu", "h100"},
                         {"engine", "vllm-0.11.1"},
                         {"quantization", "fp8"},
                         {"parallel", {{"tensor", 2}}},
                         {"engine_options", {{"max_num_seqs", 256}, {"enforce_eager", true}}},
                         {"max_concurrency", 32},
                         {"workload",
                          {{"type", "synthetic"},
                           {"num_prompts", 100},
                           {"request_rate", 4.0},
                           {"input_len", 512},
                           {"output_len", 128}}}};
  EXPECT_EQ(scenario_of(run), expected);
}

TEST(MeasuredCase, ArgumentsOfOtherServersBecomeEngineOptions) {
  MeasuredRun run;
  run.setting.engine = "sglang";
  run.setting.other = {{"server_info", R"({"mem_fraction_static": 0.5, "max_running_requests": 2,
                          "disable_radix_cache": true, "kv_cache_dtype": "fp8_e4m3"})"},
                       {"max_num_seqs", "3"}};  // --meta in this program's words
  const json expected = {{"gpu_memory_utilization", 0.5},
                         {"max_num_seqs", 3},
                         {"enable_prefix_caching", false},
                         {"kv_cache_dtype", "fp8"}};
  EXPECT_EQ(scenario_of(run)["engine_options"], expected);
}

TEST(MeasuredCase, WhatIsNotSaidIsLeftOut) {
  EXPECT_EQ(scenario_of(MeasuredRun{}), json::object());
  MeasuredRun run;
  run.setting.quantization = "bfloat16";  // of activations: the checkpoint says its weights'
  run.setting.mean_input_tokens = 100;    // and no outputs
  EXPECT_EQ(scenario_of(run), json::object());
}

TEST(MeasuredCase, WeightFormatsAreReadAsServersSayThem) {
  MeasuredRun run;
  for (const char* as_checkpoint :
       {"compressed-tensors", "torch.bfloat16", "gguf", "auto-round", "None", "auto", "float32"}) {
    run.setting.quantization = as_checkpoint;
    EXPECT_EQ(scenario_of(run), json::object()) << as_checkpoint;
  }
  run.setting.quantization = "FP8";
  EXPECT_EQ(scenario_of(run)["quantization"], "fp8");
  run.setting.quantization = "w3a5";  // named as it is, so that its case says what is known
  EXPECT_EQ(scenario_of(run)["quantization"], "w3a5");
}

TEST(MeasuredCase, WholeExpertsAreASwitchOrANumberOfRanks) {
  MeasuredRun run;
  run.setting.tensor = 8;
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"ep", "8"}, {"ep_size", "\"8\""}, {"enable_expert_parallel", "\"True\""}}) {
    run.setting.other = {{key, value}};
    EXPECT_EQ(scenario_of(run)["parallel"]["expert"], true) << key;
  }
  run.setting.other = {{"ep", "1"}, {"enable_expert_parallel", "false"}};
  EXPECT_FALSE(scenario_of(run)["parallel"].contains("expert"));
}

TEST(MeasuredCase, FiguresWithoutAPredictionAreNotCompared) {
  MeasuredRun run;
  run.metrics = {{"ttft_s", "mean", 1},
                 {"ttft_s", "p25", 1},
                 {"peak_concurrency", "value", 4},
                 {"output_tokens_per_s", "value", 5}};
  const std::vector<MetricRow> figures = comparable_figures(run);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[1].name, "output_tokens_per_s");
}

}  // namespace
}  // namespace roofcast
