// Tables that benchmarks write next to their JSON, guidellm's YAML, and inference-perf's requests.
#include <gmock/gmock.h>

#include "tests/reports/importers/import_text.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

TEST(AiperfTable, NamesAndUnitsOfPeopleAreRead) {
  const MeasuredRun run = import_one(
      "Metric,avg,min,max,p99,p50,std\n"
      "Time To First Token (ms),\"1,250.00\",250.00,\"2,000.00\",\"1,990.00\",\"1,200.00\",10.00\n"
      "Request Latency (ms),\"6,000.00\",,,,,\n"
      "Inter Token Latency (ms),30.00,27.00,36.00,35.00,29.00,1.00\n"
      "Output Sequence Length (tokens),160.00,1.00,200.00,200.00,160.00,4.00\n"
      "\n"
      "Metric,Value\n"
      "Output Token Throughput (per sec),\"1,261.25\"\n"
      "Request Throughput (requests/sec),1.50\n"
      "Request Count (count),40.00\n"
      "Benchmark Duration (sec),26.50\n"
      "\n"
      "Endpoint,GPU,avg\n"
      "h,0,5\n");
  EXPECT_EQ(run.format, "aiperf-table");
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 1.25);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99"), 1.99);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 6);
  EXPECT_FALSE(has_metric(run, "e2e_s", "min"));
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "p50"), 0.029);  // a mean a request
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens_per_s"), 1261.25);
  EXPECT_DOUBLE_EQ(metric(run, "request_rate_per_s"), 1.5);
  EXPECT_DOUBLE_EQ(metric(run, "requests_completed"), 40);
  EXPECT_DOUBLE_EQ(metric(run, "makespan_s"), 26.5);
  EXPECT_EQ(run.setting.mean_output_tokens, 160.0);
}

TEST(AiperfTable, BrokenTablesAreRefusedWithTheirLine) {
  EXPECT_THAT(import_error("Metric,avg,p99\nRequest Latency (ms),5\n"),
              HasSubstr("r.json, line 2: has 2 fields, expected 3"));
  EXPECT_THAT(import_error("Metric,avg,p99\nRequest Latency (ms),\"5,6\n"),
              HasSubstr("line 2: unclosed quote"));
  EXPECT_THAT(import_error("Metric,avg,p99\nRequest Latency (fortnights),5,6\n"),
              HasSubstr("fortnights"));
  EXPECT_THAT(import_error("Metric,avg,p99\nRequest Latency (ms),many,6\n"), HasSubstr("many"));
}

constexpr const char* kGuidellmHead =
    "Run Info,Benchmark,Timings,Request Counts,Request Counts,Request Latency,Request Latency,"
    "Request Latency,Time to First Token,Server Throughput,Token Metrics\n"
    "Backend,Strategy,Duration,Successful,Errored,Successful Sec,Successful Sec,Successful Sec,"
    "Successful ms,Successful Requests/Sec,Successful Output Tokens\n"
    ",,Sec,,,Mean,Median,Percentiles,Mean,Mean,Mean\n";

TEST(GuidellmTable, ALineIsABenchmark) {
  const auto runs = import_text(
      std::string(kGuidellmHead) +
      "\"{\"\"model\"\": \"\"org/m\"\"}\",constant,60.5,118,2,1.5,1.25,"
      "\"[1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.75, 1.9, 1.95, 1.99, 2.5]\",80,1.95,128\n"
      "{},poisson,30,10,0,2.5,2.25,,90,0.5,64\n");
  ASSERT_EQ(runs.size(), 2U);
  const MeasuredRun& run = runs[0];
  EXPECT_EQ(run.format, "guidellm-table");
  EXPECT_EQ(run.origin, "r.json, line 4");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.other.at("strategy"), "\"constant\"");
  EXPECT_DOUBLE_EQ(metric(run, "makespan_s"), 60.5);
  EXPECT_DOUBLE_EQ(metric(run, "requests_completed"), 118);
  EXPECT_DOUBLE_EQ(metric(run, "requests_failed"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 1.5);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p50"), 1.25);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p99"), 1.99);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p0.1"), 1.01);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "max"), 2.5);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 0.08);
  EXPECT_DOUBLE_EQ(metric(run, "request_rate_per_s"), 1.95);
  EXPECT_EQ(run.setting.mean_output_tokens, 128.0);
  EXPECT_DOUBLE_EQ(metric(runs[1], "e2e_s", "mean"), 2.5);
  EXPECT_FALSE(has_metric(runs[1], "e2e_s", "p99"));
}

TEST(GuidellmTable, ALineOfOtherColumnsIsRefused) {
  EXPECT_THAT(import_error(std::string(kGuidellmHead) + "{},constant,60\n"),
              HasSubstr("line 4: has 3 fields, expected 11"));
  EXPECT_THAT(import_error("Run Info,Request Latency,x\na,b,c\n"),
              HasSubstr("ends inside its header"));
}

TEST(GuidellmYaml, ItsKeysAreThoseOfTheJson) {
  const std::string text =
      "args:\n"
      "  model: org/m\n"
      "benchmarks:\n"
      "- args:\n"
      "    strategy:\n"
      "      type_: concurrent\n"
      "      streams: 8\n"
      "  duration: 60.0\n"
      "  metrics:\n"
      "    time_to_first_token_ms:\n"
      "      successful:\n"
      "        mean: 60.0\n"
      "        percentiles: {p50: 58.0, p999: 91.0}\n"
      "metadata:\n"
      "  version: 1\n";
  const std::string error = import_error(text);
  if (error.find("has no libyaml-cpp") != std::string::npos) GTEST_SKIP() << error;
  const MeasuredRun run = import_one(text);
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.max_concurrency, 8);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 0.06);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99.9"), 0.091);
  EXPECT_DOUBLE_EQ(metric(run, "makespan_s"), 60);
}

TEST(InferencePerfRequests, TimesOfRequestsGiveTheirLatencies) {
  // The second arrives first; times on a clock of their own. The third failed.
  const MeasuredRun run = import_one(R"([
    {"start_time": 101.0, "end_time": 103.0, "request": "x", "response": "y", "error": null,
     "info": {"request_metrics": {"text": {"input_tokens": 500}},
              "response_metrics": {"output_tokens": 5,
                                   "output_token_times": [101.5, 101.5, 102.0, 103.0]}}},
    {"start_time": 100.0, "end_time": 101.0,
     "info": {"input_tokens": 100, "output_tokens": 3, "output_token_times": [100.25, 100.5]}},
    {"start_time": 102.0, "end_time": 102.5, "error": {"error_type": "timeout"},
     "info": {"input_tokens": 7, "output_tokens": 0, "output_token_times": []}}])");
  EXPECT_EQ(run.format, "inference-perf-requests");
  ASSERT_EQ(run.requests.size(), 3U);
  EXPECT_DOUBLE_EQ(run.requests[1].arrival_s, 1);
  EXPECT_EQ(run.requests[1].input_tokens, 500);
  EXPECT_DOUBLE_EQ(*run.requests[1].first_token_s, 1.5);
  EXPECT_FALSE(run.requests[2].finished_s);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), (0.5 + 0.25) / 2);
  // TPOT: (103 - 101.5) / 4 = 0.375, (101 - 100.25) / 2 = 0.375.
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.375);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "max"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "requests_failed"), 1);
}

TEST(InferencePerfRequests, ARequestWithoutAStartIsRefused) {
  EXPECT_THAT(
      import_error(R"([{"start_time": null, "end_time": 1, "info": {"output_tokens": 3}}])"),
      HasSubstr("start_time"));
}

}  // namespace
}  // namespace roofcast::test
