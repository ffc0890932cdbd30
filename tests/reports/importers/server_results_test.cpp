// Results of the engines' own benchmarks: SGLang, vLLM offline, TensorRT-LLM, llama.cpp, and
// collections of such rows.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/reports/importers/import_text.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

// 100 requests in 10 s, each with 768 tokens in and 96 out.
const std::string kSglang =
    R"({"tag":null,"backend":"sglang","dataset_name":"random","request_rate":Infinity,)"
    R"("max_concurrency":16,"random_input_len":1024,"duration":10.0,"completed":100,)"
    R"("total_input_tokens":76800,"total_output_tokens":9600,)"
    R"("total_output_tokens_retokenized":9590,"request_throughput":10.0,)"
    R"("input_throughput":7680.0,"output_throughput":960.0,"mean_e2e_latency_ms":1410.0,)"
    R"("p90_e2e_latency_ms":1600.0,"mean_ttft_ms":80.0,"mean_tpot_ms":14.0,)"
    R"("p95_itl_ms":16.0,"concurrency":14.1,"accept_length":null)";

TEST(Sglang, LinesAreARunEach) {
  const auto runs = import_text(kSglang + "}\n" + kSglang + "}\n");
  ASSERT_EQ(runs.size(), 2U);
  const MeasuredRun& run = runs[1];
  EXPECT_EQ(run.format, "sglang-bench-serving");
  EXPECT_EQ(run.origin, "r.json, line 2");
  EXPECT_EQ(run.setting.engine, "sglang");
  EXPECT_EQ(run.setting.max_concurrency, 16);  // and not what was achieved
  EXPECT_TRUE(std::isinf(run.setting.request_rate_per_s.value()));
  EXPECT_EQ(run.setting.mean_input_tokens, 768.0);
  EXPECT_EQ(run.setting.mean_output_tokens, 96.0);
  EXPECT_EQ(run.setting.other.at("random_input_len"), "1024");
  EXPECT_DOUBLE_EQ(metric(run, "mean_concurrency"), 14.1);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 1.41);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p90"), 1.6);
  EXPECT_DOUBLE_EQ(metric(run, "itl_s", "p95"), 0.016);
  // 80 + 14 x 95 = 1410 ms: nothing to complain about.
  EXPECT_TRUE(run.warnings.empty()) << run.warnings.front();
}

TEST(Sglang, ServerArgumentsGiveTheSetting) {
  const MeasuredRun run = import_one(
      kSglang + R"(,"server_info":{"model_path":"org/m","tp_size":4,"version":"0.5.1"}})");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.tensor, 4);
  EXPECT_EQ(run.setting.engine_version, "0.5.1");
}

TEST(Sglang, AReplayedTraceHasNoRate) {
  std::string text = kSglang + "}";
  text.replace(text.find("Infinity"), 8, "\"trace\"");
  const MeasuredRun run = import_one(text);
  EXPECT_FALSE(run.setting.request_rate_per_s.has_value());
  EXPECT_EQ(run.setting.other.at("request_rate"), "\"trace\"");
}

TEST(Sglang, ABatchIsOneRunOfThatManyRequests) {
  const MeasuredRun run =
      import_one(R"({"run_name":"a","batch_size":8,"input_len":1024,"output_len":16,"latency":0.5,)"
                 R"("output_throughput":256.0,"overall_throughput":16640.0})");
  EXPECT_EQ(run.format, "sglang-one-batch");
  EXPECT_EQ(run.setting.max_concurrency, 8);
  EXPECT_EQ(run.setting.mean_input_tokens, 1024.0);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 0.5);
  EXPECT_DOUBLE_EQ(metric(run, "total_tokens_per_s"), 16640);
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens_per_s"), 256);
}

TEST(Sglang, DataParallelAttentionSharesTheRanksOfTp) {
  const auto setting_of = [](const std::string& server) {
    return import_one(kSglang + R"(,"server_info":{)" + server + "}}").setting;
  };
  // server_args.py: tp_size counts all ranks, of which dp_size share no attention.
  const MeasuredSetting shared =
      setting_of(R"("tp_size":8,"dp_size":4,"enable_dp_attention":true)");
  EXPECT_EQ(shared.tensor, 2);
  EXPECT_EQ(shared.data, 4);
  // Without, dp_size servers of tp_size ranks each.
  const MeasuredSetting apart =
      setting_of(R"("tp_size":8,"dp_size":2,"enable_dp_attention":false)");
  EXPECT_EQ(apart.tensor, 8);
  EXPECT_EQ(apart.data, 2);
  EXPECT_THAT(import_error(kSglang + R"(,"server_info":{"tp_size":8,"dp_size":3,)" +
                           R"("enable_dp_attention":true}})"),
              HasSubstr("DP attention over 3 of 8 ranks"));
}

TEST(Sglang, ABatchWithItsFirstTokenTimedSaysTheRateOfDecodeAlone) {
  // 8 x 32 tokens in 2 s are 128/s; in the 0.4 s after the first token, of which 31 gaps, 640/s.
  const MeasuredRun run = import_one(
      R"({"run_name":"a","batch_size":8,"input_len":8192,"output_len":32,"latency":2.0,"ttft":1.6,)"
      R"("output_throughput":640.0,"overall_throughput":32896.0})");
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens_per_s"), 128);
  EXPECT_DOUBLE_EQ(metric(run, "decode_tokens_per_s"), 640);
  EXPECT_NEAR(metric(run, "tpot_s", "mean"), 0.4 / 31, 1e-15);
}

TEST(VllmOffline, LatencyIsTheEndToEndTimeOfABatch) {
  const MeasuredRun run = import_one(
      R"({"avg_latency":2.0,"latencies":[1.0,2.0,3.0],"percentiles":{"10":1.2,"90":2.8}})",
      {.format = "", .meta = {{"batch_size", "8"}, {"input_len", "32"}}, .since = ""});
  EXPECT_EQ(run.format, "vllm-bench-latency");
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p90"), 2.8);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "p50"), 2);  // of the samples
  EXPECT_EQ(run.setting.mean_input_tokens, 32.0);
  EXPECT_EQ(run.setting.other.at("batch_size"), "\"8\"");
}

TEST(VllmOffline, ThroughputCountsInputAndOutput) {
  const MeasuredRun run = import_one(
      R"({"elapsed_time":10.0,"num_requests":50,"total_num_tokens":10000,
"requests_per_second":5.0,"tokens_per_second":1000.0})");
  EXPECT_EQ(run.format, "vllm-bench-throughput");
  EXPECT_DOUBLE_EQ(metric(run, "request_rate_per_s"), 5);
  EXPECT_DOUBLE_EQ(metric(run, "total_tokens_per_s"), 1000);
  EXPECT_FALSE(has_metric(run, "output_tokens_per_s"));
}

TEST(TrtllmBench, SaysNearlyAllOfItsSetting) {
  const MeasuredRun run = import_one(R"({
"engine":{"model":"org/m","version":"1.2.0","backend":"PyTorch","dtype":"bfloat16",
          "kv_cache_dtype":"FP8","quantization":"FP8"},
"machine":{"name":"NVIDIA H100 80GB HBM3","memory.total":79.6},
"world_info":{"tp_size":2,"pp_size":1,"ep_size":1,"world_size":2,"max_batch_size":256,
              "issue_rate":-1.0},
"request_info":{"num_requests":10,"avg_num_concurrent_requests":4.5,"avg_input_length":128.0,
                "avg_output_length":11.0},
"performance":{"total_latency_ms":2000.0,"avg_request_latency_ms":150.0,
  "request_throughput_req_s":5.0,"system_output_throughput_tok_s":55.0,
  "output_throughput_per_gpu_tok_s":27.5,
  "request_latency_percentiles_ms":{"minimum":140.0,"maximum":170.0,"average":150.0,"p50":149.0,
                                    "p99":169.0}},
"streaming_metrics":{"avg_ttft_ms":50.0,"avg_tpot_ms":10.0,"ttft_percentiles":{"p99":60.0},
                     "tpot_percentiles":{"p50":10.0}}})");
  EXPECT_EQ(run.setting.engine, "tensorrt-llm");
  EXPECT_EQ(run.setting.engine_version, "1.2.0");
  EXPECT_EQ(run.setting.gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.setting.quantization, "FP8");
  EXPECT_EQ(run.setting.tensor, 2);
  EXPECT_EQ(run.setting.gpus, 2);
  EXPECT_EQ(run.setting.request_rate_per_s, std::numeric_limits<double>::infinity());
  EXPECT_EQ(run.setting.other.at("max_batch_size"), "256");
  EXPECT_DOUBLE_EQ(metric(run, "makespan_s"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 0.15);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "max"), 0.17);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99"), 0.06);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.01);
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens_per_s_per_gpu"), 27.5);
}

TEST(Inferencex, RowsHaveSecondsAndThroughputPerGpu) {
  const auto runs = import_text(R"([{"hw":"h200","conc":64,"model":"org/m","framework":"trt",
"precision":"fp8","isl":1024,"osl":1024,"tp":8,"ep":1,"tput_per_gpu":900.0,
"output_tput_per_gpu":450.0,"mean_ttft":0.4,"median_ttft":0.35,"p99_tpot":0.03,
"median_intvty":50.0},{"hw":"h200","conc":8,"tput_per_gpu":100.0}])");
  ASSERT_EQ(runs.size(), 2U);
  const MeasuredRun& run = runs[0];
  EXPECT_EQ(run.setting.gpu, "h200");
  EXPECT_EQ(run.setting.engine, "tensorrt-llm");
  EXPECT_EQ(run.setting.quantization, "fp8");
  EXPECT_EQ(run.setting.tensor, 8);
  EXPECT_EQ(run.setting.max_concurrency, 64);
  EXPECT_EQ(run.setting.mean_output_tokens, 1024.0);
  EXPECT_DOUBLE_EQ(metric(run, "total_tokens_per_s_per_gpu"), 900);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 0.4);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p50"), 0.35);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "p99"), 0.03);
}

TEST(Inferencex, DataParallelAttentionIsOverTheRanksOfTp) {
  const MeasuredRun run = import_one(
      R"({"hw":"h200","conc":8,"tput_per_gpu":100.0,"tp":8,"ep":8,"dp_attention":true})");
  EXPECT_EQ(run.setting.tensor, 1);
  EXPECT_EQ(run.setting.data, 8);
}

TEST(LlamaBench, PrefillAndDecodeAreTimesOfOneSequence) {
  const auto runs = import_text(R"([
{"build_commit":"abc","build_number":6000,"gpu_info":"G","model_filename":"m.gguf",
 "model_type":"llama 8B Q4_0","n_prompt":512,"n_gen":0,"test_time":"2026-01-02T03:04:05Z",
 "avg_ns":256000000,"stddev_ns":1000000,"avg_ts":2000.0,"samples_ns":[255000000,257000000]},
{"build_commit":"abc","n_prompt":0,"n_gen":128,"avg_ns":1280000000,"avg_ts":100.0}])");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].setting.engine, "llama.cpp");
  EXPECT_EQ(runs[0].setting.engine_version, "b6000");
  EXPECT_EQ(runs[0].setting.gpu, "G");
  EXPECT_EQ(runs[0].created_at, "2026-01-02T03:04:05Z");
  EXPECT_DOUBLE_EQ(metric(runs[0], "prefill_s", "mean"), 0.256);
  EXPECT_DOUBLE_EQ(metric(runs[0], "prefill_s", "max"), 0.257);
  EXPECT_DOUBLE_EQ(metric(runs[0], "input_tokens_per_s"), 2000);
  // 1.28 s over 128 tokens.
  EXPECT_DOUBLE_EQ(metric(runs[1], "tpot_s", "mean"), 0.01);
}

const std::string kReport = R"({"version":"0.2","run":{"uid":"a",
"time":{"start":"2026-01-02T03:04:05Z"}},
"scenario":{"stack":[{"metadata":{"label":"x"},"standardized":{"kind":"inference_engine",
  "tool":"vllm","tool_version":"0.30.0","replicas":2,"model":{"name":"org/m"},
  "accelerator":{"model":"NVIDIA-H100-80GB-HBM3","count":8,"parallelism":{"tp":8,"pp":1,"dp":1}}},
  "native":{"args":{"--max-model-len":16384}}}],
 "load":{"standardized":{"tool":"inference-perf","rate_qps":7,"concurrency":".inf"}}},
"results":{"request_performance":{"aggregate":{
 "requests":{"total":70,"failures":0,"input_length":{"units":"count","mean":600},
             "output_length":{"units":"count","mean":11}},
 "throughput":{"output_token_rate":{"units":"tokens/s","mean":77},
               "request_rate":{"units":"queries/s","mean":7.0}},
 "latency":{"time_to_first_token":{"units":"ms","mean":400,"p0p1":100,"P25":300,"p99p9":900},
            "time_per_output_token":{"units":"s/token","mean":0.01},
            "request_latency":{"units":"s","mean":0.5}}}}}})";

TEST(LlmdReport, IsReadInItsOwnUnits) {
  const MeasuredRun run = import_one(kReport);
  EXPECT_EQ(run.format, "llm-d-report");
  EXPECT_EQ(run.created_at, "2026-01-02T03:04:05Z");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.engine, "vllm");
  EXPECT_EQ(run.setting.engine_version, "0.30.0");
  EXPECT_EQ(run.setting.gpus, 8);
  EXPECT_EQ(run.setting.tensor, 8);
  EXPECT_EQ(run.setting.request_rate_per_s, 7.0);
  EXPECT_FALSE(run.setting.max_concurrency.has_value());
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 0.4);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p0.1"), 0.1);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p25"), 0.3);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99.9"), 0.9);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.01);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 0.5);
}

TEST(LlmdReport, AUnitThatIsNotKnownIsRefused) {
  std::string text = kReport;
  text.replace(text.find("\"ms\""), 4, "\"moons\"");
  EXPECT_THAT(import_error(text),
              HasSubstr("time_to_first_token.units is 'moons', expected units"));
}

}  // namespace
}  // namespace roofcast::test
