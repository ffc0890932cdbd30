// Results that are not JSON: pasted tables, tables of sweeps, start-up logs, scrapes, YAML.
#include <gmock/gmock.h>

#include "tests/reports/importers/import_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(VllmConsole, PastedTablesAreReadQuotedOrNot) {
  const auto runs = import_text(R"(We see this:
> ============ Serving Benchmark Result ============
> Successful requests:                     100
> Maximum request concurrency:             16
> Benchmark duration (s):                  10.00
> Total input tokens:                      102400
> Total generated tokens:                  9,600
> Request throughput (req/s):              10.00
> Output token throughput (tok/s):         960.00
> Mean TTFT (ms):                          80.00
> Median TTFT (ms):                        75.00
> P99.9 TTFT (ms):                         120.00
> Mean TPOT (ms):                          14.00
> ==================================================
and once more
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Mean E2E Latency (ms):                   1500.00
)");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].origin, "r.json, line 2");
  EXPECT_EQ(runs[0].setting.max_concurrency, 16);
  EXPECT_EQ(runs[0].setting.mean_output_tokens, 96.0);
  EXPECT_DOUBLE_EQ(metric(runs[0], "ttft_s", "mean"), 0.08);
  EXPECT_DOUBLE_EQ(metric(runs[0], "ttft_s", "p50"), 0.075);
  EXPECT_DOUBLE_EQ(metric(runs[0], "ttft_s", "p99.9"), 0.12);
  EXPECT_DOUBLE_EQ(metric(runs[0], "tpot_s", "mean"), 0.014);
  EXPECT_EQ(runs[1].setting.engine, "sglang");
  EXPECT_DOUBLE_EQ(metric(runs[1], "e2e_s", "mean"), 1.5);
  EXPECT_FALSE(has_metric(runs[1], "ttft_s", "mean"));
}

TEST(VllmSweepTable, RowsAreRuns) {
  const auto runs = import_text(
      ",backend,model_id,num_prompts,request_rate,request_throughput,total_output_tokens,"
      "mean_ttft_ms,max_num_seqs,itls\n"
      "0,vllm,org/m,10,inf,2.5,100,50.0,64,\"[[1, 2]]\"\n"
      "1,vllm,org/m,10,2.0,1.9,100,,128,\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].origin, "r.json, line 2");
  EXPECT_EQ(runs[0].setting.model, "org/m");
  EXPECT_DOUBLE_EQ(metric(runs[0], "ttft_s", "mean"), 0.05);
  EXPECT_EQ(runs[1].setting.request_rate_per_s, 2.0);
  EXPECT_EQ(runs[1].setting.other.at("max_num_seqs"), "\"128\"");
  EXPECT_FALSE(has_metric(runs[1], "ttft_s", "mean"));
  EXPECT_THAT(import_error(",num_prompts,request_throughput\n0,10\n"),
              HasSubstr("r.json, line 2: has 2 fields, expected 3"));
}

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

TEST(StartUpLog, OfVllmOneSplitsTheMemory) {
  const MeasuredRun run = import_one(
      R"(INFO 01-02 [core.py:58] Initializing a V1 LLM engine (v0.11.0) with config: model='org/m', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto,
(Worker_TP0) INFO 01-02 [gpu_model_runner.py:2602] Model loading took 7.5000 GiB and 2.5 seconds
(Worker_TP1) INFO 01-02 [gpu_model_runner.py:2602] Model loading took 7.5000 GiB and 2.6 seconds
DEBUG 01-02 [gpu_worker.py:278] Memory profiling takes 7.26 seconds. Total non KV cache memory: 9.75GiB; torch peak memory increase: 1.75GiB; non-torch forward increase memory: 0.50GiB; weights memory: 7.50GiB.
(Worker_TP0) INFO 01-02 [gpu_worker.py:298] Available KV cache memory: 62.50 GiB
(Worker_TP1) INFO 01-02 [gpu_worker.py:298] Available KV cache memory: 62.25 GiB
INFO 01-02 [kv_cache_utils.py:1087] GPU KV cache size: 1,019,904 tokens
INFO 01-02 [kv_cache_utils.py:1091] Maximum concurrency for 8,192 tokens per request: 124.50x
INFO 01-02 [gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.25 GiB
)");
  EXPECT_EQ(run.format, "start-up-log");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.engine, "vllm");
  EXPECT_EQ(run.setting.engine_version, "0.11.0");
  EXPECT_EQ(run.setting.tensor, 2);
  EXPECT_EQ(run.setting.quantization, "");
  EXPECT_EQ(run.setting.other.at("max_model_len"), "\"8192\"");
  EXPECT_DOUBLE_EQ(metric(run, "weights_bytes"), 7.5 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "activation_bytes"), 1.75 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "non_torch_bytes"), 0.5 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "kv_bytes"), 62.25 * kGib);  // the smallest rank sizes the cache
  EXPECT_DOUBLE_EQ(metric(run, "kv_tokens"), 1'019'904);
  EXPECT_DOUBLE_EQ(metric(run, "concurrency_at_max_model_len"), 124.5);
  EXPECT_DOUBLE_EQ(metric(run, "cuda_graph_bytes"), 0.25 * kGib);
}

TEST(StartUpLog, OfVllmZeroSplitsTheMemory) {
  const MeasuredRun run = import_one(
      R"(INFO worker.py:266] the current vLLM instance can use total_gpu_memory (79.25GiB) x gpu_memory_utilization (0.90) = 71.33GiB
INFO worker.py:266] model weights take 15.00GiB; non_torch_memory takes 0.25GiB; PyTorch activation peak memory takes 1.25GiB; the rest of the memory reserved for KV Cache is 54.75GiB.
INFO executor_base.py:108] # CUDA blocks: 28032, # CPU blocks: 2048
)");
  EXPECT_EQ(run.setting.engine, "vllm");
  EXPECT_EQ(run.setting.other.at("gpu_memory_utilization"), "\"0.90\"");
  EXPECT_DOUBLE_EQ(metric(run, "memory_visible_bytes"), 79.25 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "weights_bytes"), 15 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "non_torch_bytes"), 0.25 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "activation_bytes"), 1.25 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "kv_bytes"), 54.75 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "kv_blocks"), 28032);
}

TEST(StartUpLog, OfSglangIsReadToo) {
  const MeasuredRun run = import_one(
      R"([2026-01-02 03:04:05] server_args=ServerArgs(model_path='org/m', tp_size=1, mem_fraction_static=0.875)
[2026-01-02 03:04:09] Load weight end. type=X, dtype=torch.bfloat16, avail mem=63.50 GB, mem usage=15.00 GB.
[2026-01-02 03:04:10] KV Cache is allocated. #tokens: 430080, K size: 26.25 GB, V size: 26.25 GB
[2026-01-02 03:04:11] Capture cuda graph end. Time elapsed: 5.2 s. mem usage=0.50 GB. avail mem=8.1 GB.
)");
  EXPECT_EQ(run.setting.engine, "sglang");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_DOUBLE_EQ(metric(run, "weights_bytes"), 15 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "kv_tokens"), 430'080);
  EXPECT_DOUBLE_EQ(metric(run, "kv_bytes"), 52.5 * kGib);
  EXPECT_DOUBLE_EQ(metric(run, "cuda_graph_bytes"), 0.5 * kGib);
}

TEST(StartUpLog, AServerThatWasStartedTwiceIsTwoRuns) {
  const auto runs = import_text(
      "Initializing a V1 LLM engine (v0.11.0) with config: model='a',\n"
      "GPU KV cache size: 1,000 tokens\n"
      "Initializing a V1 LLM engine (v0.11.0) with config: model='b',\n"
      "GPU KV cache size: 2,000 tokens\n");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].origin, "r.json, line 3");
  EXPECT_EQ(runs[1].setting.model, "b");
  EXPECT_DOUBLE_EQ(metric(runs[1], "kv_tokens"), 2000);
}

/// 10 requests: `fast` up to 0.1 s, the rest up to 0.5 s; two replicas write "0.5" and "0.50".
std::string scrape(int fast, double sum) {
  const std::string count = std::to_string(fast);
  return R"(# HELP vllm:time_to_first_token_seconds Time
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="org/m"} )" +
         count + R"(
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="org/m"} )" +
         count + R"(
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.50",model_name="org/m"} 5
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="org/m"} )" +
         count + R"(
vllm:time_to_first_token_seconds_bucket{engine="1",le="+Inf",model_name="org/m"} 5
vllm:time_to_first_token_seconds_sum{engine="0",model_name="org/m"} )" +
         std::to_string(sum) + R"(
vllm:time_to_first_token_seconds_count{engine="0",model_name="org/m"} )" +
         count + R"(
vllm:generation_tokens_total{model_name="org/m"} )" +
         std::to_string(100 * fast) + R"( 1700000000000
vllm:cache_config_info{block_size="16",num_gpu_blocks="2588"} 1.0
python_gc_objects 3
)";
}

TEST(Prometheus, MeansAreExactAndPercentilesBounded) {
  const MeasuredRun run = import_one(scrape(5, 0.4));
  EXPECT_EQ(run.format, "prometheus");
  EXPECT_EQ(run.setting.model, "org/m");
  EXPECT_EQ(run.setting.other.at("block_size"), "\"16\"");
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.08, 1e-12);
  EXPECT_EQ(metric(run, "kv_blocks"), 2588);
  // Rank 9 of 10 is the 4th of 5 between 0.1 and 0.5 s: 0.1 + 0.4 x 4/5 = 0.42 s.
  EXPECT_NEAR(metric(run, "ttft_s", "p90"), 0.42, 1e-12);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p90_lower"), 0.1);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p90_upper"), 0.5);
  // Rank 5 is the last of the first bucket.
  EXPECT_NEAR(metric(run, "ttft_s", "p50"), 0.1, 1e-12);
  EXPECT_THAT(run.warnings, Contains(HasSubstr("interpolated")));
  EXPECT_THAT(run.warnings, Contains(HasSubstr("since the server started")));
}

TEST(Prometheus, TwoScrapesGiveWhatCameBetweenThem) {
  const TemporaryFolder folder;
  const std::string earlier = folder.write("earlier.prom", scrape(2, 0.1));
  const ImportOptions options{.format = "", .meta = {}, .since = earlier};
  // (0.4 - 0.1) / (5 - 2) s; 500 - 200 tokens.
  const MeasuredRun run = import_one(scrape(5, 0.4), options);
  EXPECT_NEAR(metric(run, "ttft_s", "mean"), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens"), 300);
  EXPECT_EQ(metric(run, "kv_blocks"), 2588);
  // A server that was restarted counts from 0: 1 request of 0.05 s, 100 tokens.
  const MeasuredRun again = import_one(scrape(1, 0.05), options);
  EXPECT_NEAR(metric(again, "ttft_s", "mean"), 0.05, 1e-12);
  EXPECT_DOUBLE_EQ(metric(again, "output_tokens"), 100);
  EXPECT_THAT(again.warnings, Contains(HasSubstr("restarted")));
}

TEST(Prometheus, ARestartedServerIsTakenWholeThoughItCountedFurtherInSomeSeries) {
  const auto histogram = [](int first, int second, int all, int tokens) {
    const auto line = [](const std::string& series, int count) {
      return "vllm:" + series + " " + std::to_string(count) + "\n";
    };
    const std::string ttft = "time_to_first_token_seconds_";
    return line(ttft + R"(bucket{engine="0",le="0.1"})", first) +
           line(ttft + R"(bucket{engine="0",le="1"})", second) +
           line(ttft + R"(bucket{engine="0",le="+Inf"})", all) +
           line(ttft + R"(count{engine="0"})", all) +
           line(R"(generation_tokens_total{engine="0"})", tokens);
  };
  const TemporaryFolder folder;
  const std::string earlier = folder.write("earlier.prom", histogram(50, 100, 400, 1000));
  const ImportOptions options{.format = "", .meta = {}, .since = earlier};
  const MeasuredRun run = import_one(histogram(300, 310, 320, 5000), options);
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens"), 5000);
  // Rank 160 of 320 lies in the first bucket: 0.1 x 160 / 300.
  EXPECT_NEAR(metric(run, "ttft_s", "p50"), 0.1 * 160 / 300, 1e-12);
  EXPECT_THAT(run.warnings, Contains(HasSubstr("a server was restarted")));
}

TEST(StartUpLog, IsToldBehindProgressBarsOfAnyLength) {
  std::string log = "Loading safetensors checkpoint shards\n";
  while (log.size() < 100'000) log += "  0% Completed | 0/4 [00:00<?, ?it/s]\n";
  const MeasuredRun run = import_one(log + "INFO GPU KV cache size: 41,408 tokens\n");
  EXPECT_EQ(run.format, "start-up-log");
  EXPECT_EQ(metric(run, "kv_tokens"), 41408);
}

TEST(Prometheus, AnswersOfTheHttpApiAreReadToo) {
  const MeasuredRun run = import_one(
      R"({"status":"success","data":{"resultType":"vector","result":[
{"metric":{"__name__":"sglang:generation_tokens_total","model_name":"org/m"},
 "value":[1700000000,"96"]},
{"metric":{"__name__":"sglang:e2e_request_latency_seconds_sum"},"values":[[1,"2"],[2,"3"]]},
{"metric":{"__name__":"sglang:e2e_request_latency_seconds_count"},"value":[2,"2"]},
{"metric":{"__name__":"sglang:cache_hit_rate"},"value":[2,"NaN"]}]}})");
  EXPECT_EQ(run.setting.engine, "sglang");
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens"), 96);
  EXPECT_DOUBLE_EQ(metric(run, "e2e_s", "mean"), 1.5);
}

// Two servers, of which the second is restarted: (9 - 1) + 3 + (8 - 3) tokens in 120 s.
TEST(Prometheus, ARangeGivesWhatItsCountersRoseBy) {
  const MeasuredRun run = import_one(
      R"({"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"__name__":"vllm:generation_tokens_total","engine":"0"},
 "values":[[1000,"1"],[1060,"4"],[1120,"9"]]},
{"metric":{"__name__":"vllm:generation_tokens_total","engine":"1"},
 "values":[[1000,"7"],[1060,"3"],[1120,"8"]]},
{"metric":{"__name__":"vllm:request_success_total","finished_reason":"abort"},
 "values":[[1120,"1"]]},
{"metric":{"__name__":"vllm:num_requests_running","engine":"0"},
 "values":[[1000,"5"],[1060,"6"],[1120,"2"]]}]}})");
  EXPECT_DOUBLE_EQ(metric(run, "output_tokens"), 16);
  EXPECT_DOUBLE_EQ(metric(run, "requests_running"), 2);
  EXPECT_DOUBLE_EQ(metric(run, "makespan_s"), 120);
  EXPECT_THAT(run.warnings, Not(Contains(HasSubstr("since the server started"))));
}

TEST(Prometheus, ABrokenSampleOfARangeIsNamed) {
  EXPECT_THAT(import_error(R"({"data":{"resultType":"matrix","result":[
{"metric":{"__name__":"vllm:generation_tokens_total"},"values":[[1000,"1"],[1060]]}]}})"),
              HasSubstr("expected [time, \"number\"]"));
}

TEST(Prometheus, ABrokenSampleIsNamed) {
  EXPECT_THAT(import_error("# TYPE vllm:a counter\nvllm:a{b=\"c} 1\n"),
              HasSubstr("r.json:2: 'vllm:a{b=\"c} 1' is not a sample"));
}

constexpr const char* kYaml = R"(version: '0.2'
run: {uid: abc, time: {start: 2026-01-02T03:04:05Z}}
scenario:
  stack:
  - standardized: {kind: inference_engine, tool: vllm, tool_version: 0.30.0,
      model: {name: org/m}, accelerator: {model: H100, count: 8, parallelism: {tp: 8}}}
  load:
    standardized: {rate_qps: 7, concurrency: .inf}
results:
  request_performance:
    aggregate:
      requests: {total: 70, failures: 0}
      latency: {time_to_first_token: {units: ms, mean: 400, p99: 900}}
)";

TEST(LlmdYaml, IsReadAsItsJson) {
  const std::string error = import_error(kYaml);
  if (error.find("no libyaml-cpp") != std::string::npos) GTEST_SKIP() << "no libyaml-cpp";
  const MeasuredRun run = import_one(kYaml);
  EXPECT_EQ(run.format, "llm-d-report");
  EXPECT_EQ(run.setting.tensor, 8);
  EXPECT_EQ(run.setting.engine_version, "0.30.0");
  EXPECT_EQ(run.setting.request_rate_per_s, 7.0);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99"), 0.9);
  EXPECT_THAT(import_error("version: 1\nrun: [\nresults: {"), HasSubstr("is not YAML"));
}

}  // namespace
}  // namespace roofcast::test
