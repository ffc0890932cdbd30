// Files and folders of results, and request logs with the files next to them.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/reports/importers/import_text.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class ResultFiles : public testing::Test {
 protected:
  ResultFiles() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              (std::string("roofcast_results_") + test->name() + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ResultFiles() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_;
};

std::string result(int seqs) {
  return R"({"request_throughput":1.0,"num_prompts":1,"total_output_tokens":5,"max_num_seqs":)" +
         std::to_string(seqs) + "}";
}

TEST_F(ResultFiles, OfASweepAreItsRunsAndNothingTwice) {
  write("x/SERVE-a-BENCH-b/run=0.json", result(1));
  write("x/SERVE-a-BENCH-b/run=1.json", result(2));
  write("x/SERVE-a-BENCH-b/run=2.failure.json", R"({"run_number":2,"error":"e"})");
  write("x/SERVE-a-BENCH-b/warmup.json", result(9));
  write("x/SERVE-a-BENCH-b/summary.json", "[" + result(1) + "," + result(2) + "]");
  write("x/summary.csv", "request_throughput,num_prompts,total_output_tokens\n1,1,5\n1,1,5\n");
  write("x/run=0.pytorch.json", "[{}]");
  write("x/notes.md", "no result");
  const auto runs = read_measured(folder_.string());
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_THAT(runs[0].origin, testing::EndsWith("run=0.json"));
  EXPECT_EQ(runs[1].setting.other.at("max_num_seqs"), "2");
}

TEST_F(ResultFiles, SummariesCountWhereTheRunsAreGone) {
  write("a/summary.json", "[" + result(1) + "," + result(2) + "]");
  write("summary.csv", "request_throughput,num_prompts,total_output_tokens\n1,1,5\n1,1,5\n");
  EXPECT_EQ(read_measured(folder_.string()).size(), 2U);
  fs::remove_all(folder_ / "a");
  EXPECT_EQ(read_measured(folder_.string()).size(), 2U);
}

std::string lifecycle(int rate) {
  return R"({"load_summary":{"requested_rate":)" + std::to_string(rate) +
         R"(},"successes":{"count":2,"latency":{"request_latency":{"mean":1}}}})";
}

constexpr const char* kAiperfProfile =
    R"({"request_throughput":{"unit":"requests/sec","avg":1},"input_config":{}})";
constexpr const char* kAiperfRecord =
    R"({"metadata":{"request_start_ns":1},"metrics":{"request_latency":{"value":1,"unit":"ms"}}})";
constexpr const char* kGuidellm =
    R"({"args":{},"benchmarks":[{"metrics":{},"duration":1},{"metrics":{},"duration":2}]})";

TEST_F(ResultFiles, OneRunInSeveralFilesIsReadOnceFromTheRichest) {
  write("ip/stage_0_lifecycle_metrics.json", lifecycle(2));
  write("ip/stage_1_lifecycle_metrics.json", lifecycle(4));
  write("ip/summary_lifecycle_metrics.json", lifecycle(3));
  write("ip/per_request_lifecycle_metrics.json",
        R"([{"start_time":0,"end_time":1,"info":{"output_tokens":1}}])");
  write("aiperf/profile_export_aiperf.json", kAiperfProfile);
  write("aiperf/profile_export_aiperf.csv", "Metric,avg,p50\nRequest Latency (ms),1,1\n");
  write("aiperf/profile_export.jsonl", kAiperfRecord);
  write("llmperf/m_550_150_summary.json", R"({"results_ttft_s_mean":0.1})");
  write("llmperf/m_550_150_individual_responses.json",
        R"([{"ttft_s":0.1,"end_to_end_latency_s":1,"number_output_tokens":2}])");
  write("guidellm/benchmarks.json", kGuidellm);
  write("guidellm/benchmarks.csv", "a,b\n");
  const FolderReading reading = read_folder(folder_.string());
  EXPECT_THAT(reading.broken, testing::IsEmpty());
  ASSERT_EQ(reading.runs.size(), 6U);  // aiperf's, two of guidellm, two stages, llmperf's
  EXPECT_EQ(reading.runs[0].format, "aiperf");
  EXPECT_EQ(reading.runs[1].format, "guidellm");
  EXPECT_EQ(reading.runs[3].setting.request_rate_per_s, 2);
  EXPECT_EQ(reading.runs[4].setting.request_rate_per_s, 4);
  EXPECT_EQ(reading.runs[5].format, "llmperf");
  EXPECT_EQ(reading.passed_over.size(), 6U);
  EXPECT_THAT(passed_over_note(reading),
              testing::StartsWith("6 files skipped, because they repeat the runs of others: "));
}

TEST_F(ResultFiles, ACopyCountsWhereItsOriginalCannotBeRead) {
  write("profile_export_aiperf.json", R"({"request_throughput":{"unit":"requests/sec",)");
  write("profile_export.jsonl", kAiperfRecord);
  write("other.json", R"({"architectures":["X"]})");  // no result, so that its copy is none
  write("other.csv", "Metric,avg,p50\nRequest Latency (ms),1,1\n");
  const FolderReading reading = read_folder(folder_.string());
  ASSERT_EQ(reading.runs.size(), 2U);
  EXPECT_EQ(reading.runs[0].format, "aiperf-table");
  EXPECT_EQ(reading.runs[1].format, "aiperf-records");
  ASSERT_EQ(reading.broken.size(), 1U);
  EXPECT_THAT(reading.broken[0].problem, HasSubstr("profile_export_aiperf.json"));
  EXPECT_EQ(passed_over_note(reading), "");
}

TEST_F(ResultFiles, ABrokenFileKeepsNoOtherFromBeingRead) {
  write("a.json", result(1));
  write("b.json", "{\"request_throughput\": 1.0,");
  write("c.json", result(3));
  const FolderReading reading = read_folder(folder_.string());
  EXPECT_EQ(reading.runs.size(), 2U);
  ASSERT_EQ(reading.broken.size(), 1U);
  EXPECT_EQ(reading.broken[0].path, (folder_ / "b.json").string());
}

TEST_F(ResultFiles, AFolderWithoutResultsSaysSo) {
  write("config.json", R"({"architectures":["X"]})");
  EXPECT_THROW(read_measured(folder_.string()), Error);
  EXPECT_THROW(read_measured((folder_ / "absent.json").string()), Error);
}

// Two requests: the second arrives 1 s after the first and is queued 0.25 s later than that, so it
// waited in the front end.
constexpr const char* kRequests =
    R"({"request_id":"0","input_toks":10,"output_toks":3,"arrival_time":1000.0,"queued_ts":50.0,"scheduled_ts":50.125,"first_token_ts":50.5,"last_token_ts":51.5}
{"request_id":"1","input_toks":20,"output_toks":2,"arrival_time":1001.0,"queued_ts":51.25,"scheduled_ts":51.25,"first_token_ts":51.5,"last_token_ts":51.75}
)";

TEST_F(ResultFiles, RequestLogTakesItsSettingFromTheMetaBesideIt) {
  write("requests.jsonl", kRequests);
  write("meta.json", R"({"model":"org/m","vllm_version":"0.19.0","num_requests":2,
"engine_kwargs":{"model":"org/m","tensor_parallel_size":2,"max_num_seqs":256},
"started_at":"2026-01-02T03:04:05Z","kv_cache":{"num_gpu_blocks":100,"block_size":16},
"hardware":{"device_name":"NVIDIA X"}})");
  const auto runs = read_measured(folder_.string());
  ASSERT_EQ(runs.size(), 1U);
  const MeasuredRun& run = runs[0];
  EXPECT_EQ(run.format, "request-log");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.gpu, "NVIDIA X");
  EXPECT_EQ(run.setting.tensor, 2);
  EXPECT_EQ(run.setting.engine_version, "0.19.0");
  EXPECT_EQ(run.setting.other.at("max_num_seqs"), "256");
  EXPECT_EQ(run.created_at, "2026-01-02T03:04:05Z");
  EXPECT_EQ(metric(run, "kv_blocks"), 100);
  // TTFT from queued_ts: 0.5 and 0.25 s; TPOT 1.0 / 2 and 0.25 / 1.
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.375, 1e-12);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.375, 1e-12);
  EXPECT_NEAR(metric(run, "e2e_s", "max"), 1.5, 1e-12);
  ASSERT_EQ(run.requests.size(), 2U);
  EXPECT_NEAR(run.requests[1].arrival_s, 1.0, 1e-12);
  EXPECT_NEAR(run.requests[1].sent_s.value(), 1.25, 1e-12);
  EXPECT_NEAR(metric(run, "makespan_s"), 1.75, 1e-12);
}

TEST_F(ResultFiles, RequestLogOfARealServerAgreesWithItsAuthors) {
  const std::string run_folder = "vllm_runs/RTX4090__Llama-3.1-8B";
  SKIP_WITHOUT_SHARED_DATA(run_folder);
  const auto runs = read_measured(shared_data(run_folder).string());
  ASSERT_EQ(runs.size(), 1U);
  const MeasuredRun& run = runs[0];
  // summary.txt next to the requests: TTFT mean 65,456.6 ms, median 60,110.9, P99 137,356.3; TPOT
  // mean 32.4 ms; latency mean 86,578.3 ms.
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 65.4566, 0.00005);
  EXPECT_NEAR(metric(run, "ttft_s", "p50"), 60.1109, 0.00005);
  EXPECT_NEAR(metric(run, "ttft_s", "p99"), 137.3563, 0.00005);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.0324, 0.00005);
  EXPECT_NEAR(metric(run, "e2e_s", "mean"), 86.5783, 0.00005);
  EXPECT_EQ(metric(run, "requests_completed"), 300);
  EXPECT_EQ(metric(run, "kv_blocks"), 2588);
  EXPECT_EQ(run.setting.gpu, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(run.setting.engine_version, "0.19.0");
}

}  // namespace
}  // namespace roofcast::test
