#include "cli/measured_case.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "model/error.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

MeasuredRun run_with(std::vector<RequestRow> requests) {
  MeasuredRun run{.origin = "r.json"};
  run.requests = std::move(requests);
  return run;
}

RequestRow request(double arrival_s, std::int64_t input, std::int64_t output) {
  return {.arrival_s = arrival_s, .input_tokens = input, .output_tokens = output};
}

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

TEST(MeasuredCase, WhatIsNotSaidIsLeftOut) {
  EXPECT_EQ(scenario_of(MeasuredRun{}), json::object());
  MeasuredRun run;
  run.setting.quantization = "bfloat16";  // of activations: the checkpoint says its weights'
  run.setting.mean_input_tokens = 100;    // and no outputs
  EXPECT_EQ(scenario_of(run), json::object());
}

TEST(MeasuredCase, RequestsAreReplayedAsTheyWereSent) {
  std::vector<RequestRow> rows = {request(100.5, 20, 3), request(100, 10, 2), request(101, 30, 0)};
  rows[0].sent_s = 100.75;
  const auto workload = recorded_workload(run_with(rows));
  ASSERT_TRUE(workload);
  ASSERT_EQ(workload->requests.size(), 2U);  // the third failed
  EXPECT_EQ(workload->requests[0].input_tokens, 10);
  EXPECT_EQ(workload->requests[0].arrival, 0);
  EXPECT_EQ(workload->requests[1].output_tokens, 3);
  EXPECT_EQ(workload->requests[1].arrival, 750'000'000);
  EXPECT_EQ(workload->notes.size(), 1U);
}

TEST(MeasuredCase, AClosedLoopWaitsForItsLimitInsteadOfRecordedTimes) {
  MeasuredRun run = run_with({request(0, 10, 2), request(5, 10, 2)});
  run.setting.max_concurrency = 1;
  EXPECT_EQ(recorded_workload(run)->requests[1].arrival, 0);
  run.setting.request_rate_per_s = std::numeric_limits<double>::infinity();
  EXPECT_EQ(recorded_workload(run)->requests[1].arrival, 0);
  run.setting.request_rate_per_s = 0.2;
  EXPECT_EQ(recorded_workload(run)->requests[1].arrival, 5'000'000'000);
}

TEST(MeasuredCase, WithoutArrivalTimesTheyAreDrawnAtTheRate) {
  MeasuredRun run = run_with(std::vector<RequestRow>(1000, request(0, 10, 2)));
  EXPECT_EQ(recorded_workload(run)->requests.back().arrival, 0);
  run.setting.request_rate_per_s = 10;
  // The last of 1000 Poisson arrivals at 10 a second: after 100 s, give or take 3.2 s.
  EXPECT_NEAR(static_cast<double>(recorded_workload(run)->requests.back().arrival), 100e9, 16e9);
}

TEST(MeasuredCase, TimesAndLengthsThatNoServerSawAreRefused) {
  EXPECT_THROW(recorded_workload(run_with({request(0, 10, 2), request(1e30, 10, 2)})), Error);
  EXPECT_THROW(recorded_workload(run_with({request(0, 1'000'000'000, 2)})), Error);
  EXPECT_EQ(recorded_workload(run_with({request(0, 10, 0)})), std::nullopt);
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
