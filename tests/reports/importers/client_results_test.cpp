// Results of load generators: aiperf, genai-perf, guidellm, inference-perf, llmperf. Their
// definitions of ITL and TPOT differ (reports/importers/README.md).
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/reports/importers/import_text.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kAiperf = R"({
"request_throughput":{"unit":"requests/sec","avg":9.5},
"request_latency":{"unit":"ms","avg":1466.0,"p50":1490.0,"p99":1700.0,"std":80.0},
"request_count":{"unit":"requests","avg":100},
"time_to_first_token":{"unit":"ms","avg":80.0,"p50":75.0},
"inter_token_latency":{"unit":"ms","avg":14.0,"p99":15.0},
"inter_chunk_latency":{"unit":"ms","avg":28.0},
"output_token_throughput":{"unit":"tokens/sec","avg":950.0},
"input_sequence_length":{"unit":"tokens","avg":1024.0},
"output_sequence_length":{"unit":"tokens","avg":100.0},
"benchmark_duration":{"unit":"sec","avg":10.5},)";

TEST(Aiperf, InterTokenLatencyIsTpotAndInterChunkLatencyItl) {
  const MeasuredRun run =
      import_one(kAiperf + R"("input_config":{"endpoint":{"model_names":["org/m"]},
"loadgen":{"concurrency":16,"request_rate":null,"request_count":100}},"was_cancelled":true})");
  EXPECT_EQ(run.format, "aiperf");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.max_concurrency, 16);
  EXPECT_EQ(run.setting.requests, 100);
  EXPECT_EQ(run.setting.mean_output_tokens, 100.0);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.014);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "p99"), 0.015);
  EXPECT_DOUBLE_EQ(metric(run, "itl_s", "mean"), 0.028);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "std"), 0.08);
  EXPECT_DOUBLE_EQ(metric(run, "makespan_s"), 10.5);
  EXPECT_THAT(run.warnings, Contains("the benchmark was cancelled"));
}

TEST(Aiperf, UnitsAreReadAndNotAssumed) {
  std::string text = kAiperf + R"("input_config":{}})";
  text.replace(text.find(R"("ms","avg":1466.0)"), 17, R"("sec","avg":1.466)");
  EXPECT_DOUBLE_EQ(metric(import_one(text), "e2e_s", "mean"), 1.466);
  text.replace(text.find(R"("sec","avg":1.466)"), 5, R"("day")");
  EXPECT_THAT(import_error(text), HasSubstr("request_latency.unit is 'day', expected units"));
}

TEST(GenaiPerf, IsToldByItsConfiguration) {
  const MeasuredRun run =
      import_one(kAiperf + R"("request_goodput":{"unit":"requests/sec","avg":8.0},
"input_config":{"model_names":["org/m"],"perf_analyzer":{"stimulus":{"concurrency":4}}}})");
  EXPECT_EQ(run.format, "genai-perf");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.max_concurrency, 4);
  EXPECT_DOUBLE_EQ(metric(run, "goodput_per_s"), 8);
}

TEST(AiperfRecords, AreRequestsWithoutWarmUp) {
  // Sent at 0, 1 and 2 s; the second failed. E2E 500 and 300 ms, TPOT 400/4 and 200/2 ms.
  const std::string text =
      R"({"metadata":{"request_start_ns":1700000000000000000,"benchmark_phase":"warmup"},"metrics":{},"error":null}
{"metadata":{"request_start_ns":1700000010000000000,"benchmark_phase":"profiling"},"metrics":{"time_to_first_token":{"value":100.0,"unit":"ms"},"request_latency":{"value":500.0,"unit":"ms"},"input_sequence_length":{"value":7,"unit":"tokens"},"output_sequence_length":{"value":5,"unit":"tokens"},"inter_chunk_latency":{"value":[100.0,300.0],"unit":"ms"}},"error":null}
{"metadata":{"request_start_ns":1700000011000000000},"metrics":{},"error":{"code":500}}
{"metadata":{"request_start_ns":1700000012000000000},"metrics":{"time_to_first_token":{"value":100.0,"unit":"ms"},"request_latency":{"value":300.0,"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"}},"error":null}
)";
  const MeasuredRun run = import_one(text);
  EXPECT_EQ(run.format, "aiperf-records");
  ASSERT_EQ(run.requests.size(), 3U);
  EXPECT_NEAR(run.requests[2].arrival_s, 2, 1e-6);
  EXPECT_EQ(metric(run, "requests_completed"), 2);
  EXPECT_EQ(metric(run, "requests_failed"), 1);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.1, 1e-9);
  EXPECT_NEAR(metric(run, "itl_s", "mean"), 0.2, 1e-9);
  EXPECT_NEAR(metric(run, "makespan_s"), 2.3, 1e-6);
  // 3 arrivals, 2 of them after the first, in 2 s.
  EXPECT_NEAR(metric(run, "offered_rate_per_s"), 1, 1e-6);
}

const std::string kBenchmark = R"("metrics":{
"requests_per_second":{"successful":{"mean":1.97},"total":{"mean":9.0}},
"request_latency":{"successful":{"mean":1.584,"median":1.59,"std_dev":0.1,
  "percentiles":{"p001":1.4,"p01":1.41,"p50":1.59,"p999":2.0}}},
"time_to_first_token_ms":{"successful":{"mean":60.0,"percentiles":{"p99":90.0}}},
"inter_token_latency_ms":{"successful":{"mean":12.0}},
"time_per_output_token_ms":{"successful":{"mean":12.4}},
"prompt_token_count":{"successful":{"mean":256.0}},
"output_token_count":{"successful":{"mean":128.0}}},"duration":60.0)";

TEST(Guidellm, EveryRateIsARunAndTimePerOutputTokenCountsTheFirst) {
  const auto runs = import_text(R"({"metadata":{"version":2},"config":{"spec":{"backend":
{"kind":"openai_http","model":"org/m"}}},"benchmarks":[
{"config":{"strategy":{"type_":"constant","rate":2.0}},
 "scheduler_metrics":{"requests_made":{"successful":118,"errored":0,"incomplete":2}},)" +
                                kBenchmark + R"(},{"config":{"strategy":{"type_":"concurrent",
"streams":8}},)" + kBenchmark + "}]}");
  ASSERT_EQ(runs.size(), 2U);
  const MeasuredRun& run = runs[0];
  EXPECT_EQ(run.origin, "r.json, benchmark 1");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.request_rate_per_s, 2.0);
  EXPECT_EQ(runs[1].setting.max_concurrency, 8);
  EXPECT_DOUBLE_EQ(metric(run, "request_rate_per_s"), 1.97);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 1.584);  // seconds already
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p0.1"), 1.4);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p1"), 1.41);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p99.9"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99"), 0.09);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.012);
  EXPECT_DOUBLE_EQ(metric(run, "ntpot_s", "mean"), 0.0124);
  EXPECT_FALSE(has_metric(run, "itl_s", "mean"));
  EXPECT_EQ(metric(run, "requests_incomplete"), 2);
}

TEST(Guidellm, VersionOneHasArgsAndRequests) {
  const MeasuredRun run = import_one(R"({"args":{"backend":"openai_http","model":"org/m"},
"benchmarks":[{"args":{"strategy":{"type_":"synchronous"}},"metrics":{},
"requests":{"successful":[
 {"start_time":6.0,"request_latency":0.3,"time_to_first_token_ms":100.0,"output_tokens":3},
 {"start_time":5.0,"request_latency":1.5,"time_to_first_token_ms":100.0,"output_tokens":15}]}}]})");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.max_concurrency, 1);
  ASSERT_EQ(run.requests.size(), 2U);
  // As they ended; times count from the first start.
  EXPECT_DOUBLE_EQ(run.requests[0].arrival_s, 1);
  EXPECT_DOUBLE_EQ(run.requests[1].arrival_s, 0);
  // (300 - 100) / 2 and (1500 - 100) / 14 ms.
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.1, 1e-12);
}

/// 11 tokens with a TTFT of 0.1 s and an E2E of 0.6 s, so TPOT is 0.05 s.
std::string stage(double told_tpot) {
  return R"({"load_summary":{"count":600,"requested_rate":10.0,"achieved_rate":10.1},
"successes":{"count":600,"latency":{"request_latency":{"mean":0.6,"median":0.59,"p99.9":2.0},
"time_to_first_token":{"mean":0.1},"time_per_output_token":{"mean":)" +
         std::to_string(told_tpot) + R"(},"inter_token_latency":{"mean":)" +
         std::to_string(told_tpot) + R"(}},
"throughput":{"output_tokens_per_sec":110.0,"requests_per_sec":10.0},
"prompt_len":{"mean":200.0},"output_len":{"mean":11.0}},"failures":{"count":0}})";
}

TEST(InferencePerf, StageIsReadInSeconds) {
  const MeasuredRun run = import_one(stage(0.05));
  EXPECT_EQ(run.format, "inference-perf");
  EXPECT_EQ(run.setting.request_rate_per_s, 10.0);
  EXPECT_EQ(run.setting.mean_output_tokens, 11.0);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p50"), 0.59);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p99.9"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.05);
  EXPECT_DOUBLE_EQ(metric(run, "itl_s", "mean"), 0.05);
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens_per_s"), 110);
  EXPECT_THAT(run.warnings, IsEmpty());
}

TEST(InferencePerf, TpotOfTwoEventsATokenIsTakenByItsDefinitionInstead) {
  const MeasuredRun run = import_one(stage(0.025));
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.05, 1e-12);
  EXPECT_DOUBLE_EQ(metric(run, "reported_tpot_s", "mean"), 0.025);
  EXPECT_FALSE(has_metric(run, "itl_s", "mean"));
  EXPECT_THAT(run.warnings, Contains(HasSubstr("two events per token")));
}

TEST(InferencePerf, FolderOfADemoIsReadStageByStage) {
  SKIP_WITHOUT_SHARED_DATA("measured/inference_perf_kubecon/vllm/results");
  const auto runs =
      read_measured(shared_data("measured/inference_perf_kubecon/vllm/results").string());
  // Seven stages; their summary and the Prometheus files next to them are left out.
  ASSERT_EQ(runs.size(), 7U);
  // stage_1: requested 31.4/s, E2E 0.546745 s, TTFT 0.029837 s, 62.364 tokens, whose TPOT by
  // definition is 0.516908 / 61.364 = 8.42 ms and is reported as 4.00 ms (SOURCE.txt says why).
  const MeasuredRun& first = runs[1];
  EXPECT_EQ(first.setting.request_rate_per_s, 31.4);
  EXPECT_NEAR(metric(first, "tpot_s", "mean"), 0.00842, 0.00001);
  EXPECT_NEAR(metric(first, "reported_tpot_s", "mean"), 0.0039979, 0.0000001);
  EXPECT_NEAR(metric(first, "request_rate_per_s"), 31.156, 0.001);
}

TEST(Llmperf, SummaryCountsTheFirstTokenAndRatesPerMinute) {
  const MeasuredRun run = import_one(R"({"version":"2023-08-31","name":"a","model":"org/m",
"mean_input_tokens":550,"mean_output_tokens":150,"num_concurrent_requests":4,
"results_ttft_s_quantiles_p99":0.4,"results_ttft_s_mean":0.2,"results_ttft_s_stddev":0.05,
"results_inter_token_latency_s_mean":0.015,"results_end_to_end_latency_s_mean":1.5,
"results_number_output_tokens_mean":100.0,"results_number_input_tokens_mean":548.0,
"results_num_requests_started":20,"results_number_errors":0,"results_num_completed_requests":20,
"results_num_completed_requests_per_min":120.0,"room":"7"})");
  EXPECT_EQ(run.format, "llmperf");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.max_concurrency, 4);
  EXPECT_EQ(run.setting.mean_input_tokens, 548.0);
  EXPECT_EQ(run.setting.other.at("room"), "\"7\"");
  EXPECT_DOUBLE_EQ(metric(run, "request_rate_per_s"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99"), 0.4);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "std"), 0.05);
  EXPECT_DOUBLE_EQ(metric(run, "ntpot_s", "mean"), 0.015);
  EXPECT_FALSE(has_metric(run, "itl_s", "mean"));
}

TEST(Llmperf, IndividualResponsesGiveTpotByItsDefinition) {
  // (1.5 - 0.2) / 100 and (0.9 - 0.1) / 100 s a token.
  const MeasuredRun run = import_one(R"([
{"error_code":null,"error_msg":"","inter_token_latency_s":0.015,"ttft_s":0.2,
 "end_to_end_latency_s":1.5,"number_output_tokens":101,"number_input_tokens":550},
{"error_code":429,"error_msg":"busy","ttft_s":0,"end_to_end_latency_s":0,
 "number_output_tokens":0},
{"error_code":null,"ttft_s":0.1,"end_to_end_latency_s":0.9,"number_output_tokens":101,
 "number_input_tokens":450}])");
  EXPECT_EQ(run.format, "llmperf-individual");
  EXPECT_EQ(metric(run, "requests_completed"), 2);
  EXPECT_EQ(metric(run, "requests_failed"), 1);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.0105, 1e-12);
  EXPECT_NEAR(metric(run, "ttft_s", "p50"), 0.15, 1e-12);
  EXPECT_EQ(run.setting.mean_input_tokens, 500.0);
}

/// llm-d's report of a measurement by `tool`: 100 tokens of 10 ms each after a first one of 1 s, so
/// E2E is 1.99 s and E2E over all tokens 19.9 ms.
MeasuredRun llmd_report_of(const std::string& tool, const std::string& latencies) {
  return import_one(R"({"version":"0.2","run":{},"scenario":{"load":{"standardized":{"tool":")" +
                    tool + R"(","rate_qps":1}}},
"results":{"request_performance":{"aggregate":{
 "requests":{"total":4,"failures":0,"output_length":{"units":"count","mean":100}},
 "latency":{"time_to_first_token":{"units":"ms","mean":1000},
  "request_latency":{"units":"s","mean":1.99},)" +
                    latencies + "}}}}}");
}

TEST(LlmdReport, TheToolThatMeasuredDecidesWhatItsWordsMean) {
  const std::string guidellm = R"("time_per_output_token":{"units":"ms","mean":19.9},
"inter_token_latency":{"units":"ms","mean":10})";
  const MeasuredRun by_guidellm = llmd_report_of("guidellm", guidellm);
  EXPECT_DOUBLE_EQ(metric(by_guidellm, "tpot_s", "mean"), 0.010);
  EXPECT_DOUBLE_EQ(metric(by_guidellm, "ntpot_s", "mean"), 0.0199);
  EXPECT_FALSE(has_metric(by_guidellm, "itl_s", "mean"));
  const MeasuredRun by_aiperf =
      llmd_report_of("aiperf", R"("inter_token_latency":{"units":"ms","mean":10})");
  EXPECT_DOUBLE_EQ(metric(by_aiperf, "tpot_s", "mean"), 0.010);
  EXPECT_FALSE(has_metric(by_aiperf, "itl_s", "mean"));
  const std::string own = R"("time_per_output_token":{"units":"ms","mean":10},
"inter_token_latency":{"units":"ms","mean":11})";
  const MeasuredRun by_vllm = llmd_report_of("vllm-benchmark", own);
  EXPECT_DOUBLE_EQ(metric(by_vllm, "tpot_s", "mean"), 0.010);
  EXPECT_DOUBLE_EQ(metric(by_vllm, "itl_s", "mean"), 0.011);
  // Two events a token: TPOT by its definition is (1.99 - 1) / 99 s.
  const MeasuredRun halved = llmd_report_of("inference-perf", R"("time_per_output_token":
{"units":"ms","mean":5},"inter_token_latency":{"units":"ms","mean":5})");
  EXPECT_DOUBLE_EQ(metric(halved, "tpot_s", "mean"), 0.010);
  EXPECT_DOUBLE_EQ(metric(halved, "reported_tpot_s", "mean"), 0.005);
  EXPECT_DOUBLE_EQ(metric(halved, "reported_itl_s", "mean"), 0.005);
}

TEST(AiperfRecords, AGapInAnUnknownUnitIsNoSecond) {
  EXPECT_THAT(import_error(R"({"metadata":{"request_start_ns":1},"metrics":{
"inter_chunk_latency":{"value":[1],"unit":"fortnight"}}})"),
              HasSubstr("inter_chunk_latency.unit is 'fortnight'"));
}

// Two requests: tokens at 0.25, 0.35, 0.55 after 0, and at 1.5 and 2.0 after 1.
const std::string kTokenTimes = R"([
{"start_time":10.0,"first_token_time":10.25,"token_timestamps":[10.25,10.35,10.55],
 "end_time":10.55,"prompt_tokens":7},
{"start_time":11.0,"token_timestamps":[11.5,12.0],"end_time":12.0}])";

TEST(TokenTimestamps, GiveEveryMetric) {
  const MeasuredRun run = import_one(kTokenTimes);
  EXPECT_EQ(run.format, "token-timestamps");
  ASSERT_EQ(run.requests.size(), 2U);
  EXPECT_EQ(run.requests[0].input_tokens, 7);
  EXPECT_EQ(run.requests[0].output_tokens, 3);
  EXPECT_EQ(run.requests[1].output_tokens, 2);
  // TTFT 0.25 and 0.5; TPOT (0.55 - 0.25) / 2 and 0.5; E2E 0.55 and 1; gaps 0.1, 0.2 and 0.5.
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.375, 1e-12);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.325, 1e-12);
  EXPECT_NEAR(metric(run, "e2e_s", "mean"), 0.775, 1e-12);
  EXPECT_NEAR(metric(run, "itl_s", "mean"), 0.8 / 3, 1e-12);
  EXPECT_NEAR(metric(run, "itl_s", "p50"), 0.2, 1e-12);
  EXPECT_NEAR(metric(run, "makespan_s"), 2.0, 1e-12);
  EXPECT_NEAR(metric(run, "output_tokens_per_s"), 5 / 2.0, 1e-12);
}

TEST(TokenTimestamps, SayWhatTheyDoNotStateOfLengths) {
  const std::string times = R"("start_time":1,"first_token_time":1.5,"end_time":3.5)";
  // The textbook's record has neither; its tokens count the output.
  MeasuredRun run = import_one(R"({"start_time":1,"token_timestamps":[1.5,2],"end_time":2})");
  EXPECT_THAT(run.warnings,
              testing::ElementsAre("1 of 1 completed requests state no input_tokens: expected "
                                   "`input_tokens` or `prompt_tokens`"));
  EXPECT_FALSE(has_metric(run, "input_tokens", "value"));
  EXPECT_FALSE(has_metric(run, "input_tokens_per_s", "value"));
  EXPECT_FALSE(run.setting.mean_input_tokens);
  EXPECT_EQ(run.setting.mean_output_tokens, 2);

  run = import_one("{" + times + R"(,"prompt_tokens":9})");
  EXPECT_THAT(run.warnings,
              testing::ElementsAre("1 of 1 completed requests state no output_tokens: expected "
                                   "`output_tokens` or `token_timestamps`"));
  EXPECT_FALSE(has_metric(run, "output_tokens_per_s", "value"));

  // Known of one of two: the sums stay.
  run = import_one("[{" + times + R"(,"prompt_tokens":9,"output_tokens":4},{)" + times +
                   R"(,"output_tokens":4}])");
  EXPECT_THAT(run.warnings,
              testing::ElementsAre(testing::HasSubstr("1 of 2 completed requests state no input")));
  EXPECT_EQ(metric(run, "input_tokens"), 9);

  run = import_one("{" + times + R"(,"prompt_tokens":9,"output_tokens":4})");
  EXPECT_TRUE(run.warnings.empty());
}

TEST(TokenTimestamps, NeedNoListOfTokens) {
  const MeasuredRun run =
      import_one(R"({"start_time":1,"first_token_time":1.5,"end_time":3.5,"output_tokens":5})");
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.5, 1e-12);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.5, 1e-12);  // 2 s for the 4 tokens after the first
  EXPECT_FALSE(has_metric(run, "itl_s", "mean"));
}

TEST(TokenTimestamps, MayLieWithinAnObject) {
  for (const char* key : {"requests", "results", "records", "data"}) {
    const MeasuredRun run =
        import_one(std::string("{\"model\":\"m\",\"") + key + "\":" + kTokenTimes + "}");
    EXPECT_EQ(run.format, "token-timestamps");
    EXPECT_EQ(run.requests.size(), 2U);
    EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.375, 1e-12);
  }
  EXPECT_THAT(import_error(R"({"records":[{"first_token_time":1}]})"),
              HasSubstr("of no known format"));
}

// The first token 0.25 s after the start, in another zone's time; the second 0.1 s later.
TEST(TokenTimestamps, MayBeDatesWithTimes) {
  const MeasuredRun run = import_one(R"({"start_time":"2026-01-02T10:00:00Z",
"first_token_time":"2026-01-02T12:00:00.25+02:00",
"token_timestamps":["2026-01-02 10:00:00.250","2026-01-02T10:00:00.35Z"],
"end_time":"2026-01-02T10:00:00.35Z","prompt_tokens":1})");
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.25, 1e-6);
  EXPECT_NEAR(metric(run, "itl_s", "mean"), 0.1, 1e-6);
  EXPECT_THAT(import_error(R"({"start_time":"noon","token_timestamps":[1],"end_time":1})"),
              HasSubstr("start_time is 'noon', expected a time"));
}

TEST(TokenTimestamps, SayWhereFewerAreListedThanStated) {
  const MeasuredRun run = import_one(R"({"start_time":1,"token_timestamps":[1.5,2],"end_time":3.5,
"prompt_tokens":1,"output_tokens":5})");
  EXPECT_THAT(run.warnings,
              testing::ElementsAre(HasSubstr("1 of 1 requests state more `output_tokens` than")));
  // 2 s for the 4 tokens after the first.
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.5, 1e-12);
}

TEST(TokenTimestamps, OfARequestWithoutAnEndCountItAsFailed) {
  const MeasuredRun run = import_one(kTokenTimes.substr(0, kTokenTimes.size() - 1) +
                                     R"(,{"start_time":12,"token_timestamps":[]}])");
  EXPECT_EQ(metric(run, "requests_completed"), 2);
  EXPECT_EQ(metric(run, "requests_failed"), 1);
}

TEST(TokenTimestamps, ThatRunBackwardsAreRefused) {
  const auto error = [](const char* rest) {
    return import_error(std::string(R"({"start_time":5,)") + rest + "}");
  };
  EXPECT_THAT(error(R"("token_timestamps":[6,5.5],"end_time":7)"),
              HasSubstr("token_timestamps expected times in seconds that do not run backwards"));
  EXPECT_THAT(error(R"("token_timestamps":[6],"end_time":5.5)"), HasSubstr("end_time expected"));
  EXPECT_THAT(error(R"("first_token_time":4,"end_time":7)"),
              HasSubstr("first_token_time expected"));
  EXPECT_THAT(error(R"("token_timestamps":[6,7],"end_time":7,"output_tokens":1)"),
              HasSubstr("output_tokens"));
}

}  // namespace
}  // namespace roofcast::test
