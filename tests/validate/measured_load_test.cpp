#include "validate/measured_load.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr double kAtOnce = std::numeric_limits<double>::infinity();

MeasuredRun run_with(std::vector<RequestRow> requests) {
  MeasuredRun run{.origin = "r.json"};
  run.requests = std::move(requests);
  return run;
}

RequestRow request(double arrival_s, std::int64_t input, std::int64_t output) {
  return {.arrival_s = arrival_s, .input_tokens = input, .output_tokens = output};
}

TEST(MeasuredLoad, RequestsAreReplayedAsTheyWereSent) {
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

TEST(MeasuredLoad, AClosedLoopWaitsForItsLimitInsteadOfRecordedTimes) {
  MeasuredRun run = run_with({request(0, 10, 2), request(5, 10, 2)});
  run.setting.max_concurrency = 1;
  EXPECT_EQ(recorded_workload(run)->requests[1].arrival, 0);
  run.setting.request_rate_per_s = kAtOnce;
  EXPECT_EQ(recorded_workload(run)->requests[1].arrival, 0);
  run.setting.request_rate_per_s = 0.2;
  EXPECT_EQ(recorded_workload(run)->requests[1].arrival, 5'000'000'000);
}

TEST(MeasuredLoad, WithoutArrivalTimesTheyAreDrawnAtTheRate) {
  MeasuredRun run = run_with(std::vector<RequestRow>(1000, request(0, 10, 2)));
  EXPECT_EQ(recorded_workload(run)->requests.back().arrival, 0);
  run.setting.request_rate_per_s = 10;
  // The last of 1000 Poisson arrivals at 10 a second: after 100 s, give or take 3.2 s.
  EXPECT_NEAR(static_cast<double>(recorded_workload(run)->requests.back().arrival), 100e9, 16e9);
}

TEST(MeasuredLoad, TimesAndLengthsThatNoServerSawAreRefused) {
  EXPECT_THROW(recorded_workload(run_with({request(0, 10, 2), request(1e30, 10, 2)})), Error);
  EXPECT_THROW(recorded_workload(run_with({request(0, 1'000'000'000, 2)})), Error);
  EXPECT_EQ(recorded_workload(run_with({request(0, 10, 0)})), std::nullopt);
}

TEST(MeasuredLoad, IsSaidByARateALimitOrTimes) {
  EXPECT_FALSE(says_load(MeasuredRun{}));
  EXPECT_FALSE(says_load(run_with({request(0, 10, 2), request(0, 10, 2)})));
  EXPECT_TRUE(says_load(run_with({request(0, 10, 2), request(3, 10, 2)})));
  EXPECT_TRUE(says_load(run_with({request(0, 10, 2)})));
  MeasuredRun run;
  run.metrics = {{"request_rate_per_s", "value", 4}};  // achieved, whatever was asked for
  EXPECT_FALSE(says_load(run));
  run.setting.request_rate_per_s = 0;
  EXPECT_FALSE(says_load(run));
  run.setting.request_rate_per_s = kAtOnce;
  EXPECT_TRUE(says_load(run));
  run.setting.request_rate_per_s.reset();
  run.setting.max_concurrency = 8;
  EXPECT_TRUE(says_load(run));
}

TEST(MeasuredLoad, GapsAndLengthsVaryAsTheFileSays) {
  MeasuredRun run{.origin = "r.json", .format = "vllm-bench-serve"};
  run.setting.mean_input_tokens = 1000;
  run.setting.mean_output_tokens = 100;
  run.setting.request_rate_per_s = 4;
  run.setting.other = {{"burstiness", "\"inf\""}, {"output_tokens_std", "12.5"}};
  json load = drawn_load(run);
  EXPECT_EQ(load["burstiness"], "inf");
  EXPECT_EQ(load["input_len"], 1000);
  EXPECT_EQ(load["output_len"], "normal:100:12.5");
  // vLLM: 20 % to either side.
  run.setting.other = {{"random_range_ratio", "\"0.2\""}, {"burstiness", "1.0"}};
  load = drawn_load(run);
  EXPECT_FALSE(load.contains("burstiness"));
  EXPECT_EQ(load["input_len"], "uniform:800:1200");
  // SGLang: L / 2 to L, so that a mean of 1000 is from L = 1333.
  run.format = "sglang-bench-serving";
  run.setting.other = {{"random_range_ratio", "0.5"}, {"dataset_name", "\"random\""}};
  EXPECT_EQ(drawn_load(run)["input_len"], "uniform:667:1333");
  run.setting.other["dataset_name"] = "\"sharegpt\"";  // to which the ratio does not apply
  EXPECT_EQ(drawn_load(run)["input_len"], 1000);
  run.setting.request_rate_per_s = kAtOnce;  // as vLLM writes it beside a ramp
  run.setting.other = {{"ramp_up_strategy", "\"exponential\""},
                       {"ramp_up_start_rps", "1"},
                       {"ramp_up_end_rps", "9"}};
  EXPECT_EQ(drawn_load(run)["ramp_up"],
            json({{"strategy", "exponential"}, {"start_rps", 1.0}, {"end_rps", 9.0}}));
}

TEST(MeasuredLoad, HowManyCameAtOnceMustBeSaid) {
  MeasuredRun run;
  run.setting.request_rate_per_s = kAtOnce;
  EXPECT_FALSE(says_requests(run));
  run.setting.other["batch_size"] = "\"8\"";
  EXPECT_TRUE(says_requests(run));
  EXPECT_EQ(drawn_load(run)["num_prompts"], 8);
  run.setting.request_rate_per_s = 4;
  run.setting.other.clear();
  EXPECT_TRUE(says_requests(run));  // more of them is a longer run of the same
}

}  // namespace
}  // namespace roofcast
