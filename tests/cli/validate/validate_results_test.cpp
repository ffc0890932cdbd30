// `roofcast validate` on results of other tools: settings that a result does not state are asked
// for, never guessed. All figures are invented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ValidateResult : public testing::Test {
 protected:
  /// The cases of the file, with the flags added.
  static json cases_of(const std::string& text, const std::string& flags = "",
                       const std::string& name = "r.json") {
    std::ofstream(name) << text;
    const CommandResult result = run_command("validate " + name + kDeployment + flags + kAnswer);
    if (result.out.empty()) ADD_FAILURE() << result.err;
    return json::parse(result.out)["cases"];
  }

  static json case_of(const std::string& text, const std::string& flags = "",
                      const std::string& name = "r.json") {
    return cases_of(text, flags, name).at(0);
  }

  static constexpr const char* kDeployment = " --model llama-3.1-8b --gpu h100 --engine vllm ";
  static constexpr const char* kAnswer = " --no-store -o json";

 private:
  TemporaryFolder folder_;
};

struct Result {
  const char* tool;
  const char* file;
  const char* text;
};

void PrintTo(const Result& result, std::ostream* stream) { *stream << result.tool; }

class ResultWithoutLoad : public ValidateResult, public testing::WithParamInterface<Result> {};

TEST_P(ResultWithoutLoad, IsNotJudgedUntilItsLoadIsGiven) {
  const auto [tool, file, text] = GetParam();
  const json unsaid = case_of(text, "", file);
  EXPECT_EQ(unsaid["answered"], false);
  EXPECT_THAT(unsaid["reason"].get<std::string>(),
              HasSubstr("does not state its load, expected `request_rate` (inf: all at once) or "
                        "`max_concurrency`"));
  EXPECT_EQ(case_of(text, "--request-rate 2", file)["answered"], true);
  EXPECT_EQ(case_of(text, "--max-concurrency 1", file)["answered"], true);
  EXPECT_EQ(case_of(text, "--meta request_rate=inf", file)["answered"], true);
}

INSTANTIATE_TEST_SUITE_P(
    Tools, ResultWithoutLoad,
    testing::Values(
        Result{"console", "r.txt",
               "============ Serving Benchmark Result ============\n"
               "Successful requests: 4\nBenchmark duration (s): 4.0\n"
               "Total input tokens: 400\nTotal generated tokens: 40\n"
               "Request throughput (req/s): 1.0\nMean TTFT (ms): 20.0\n"},
        Result{"inference_perf", "r.json",
               R"({"load_summary": {"count": 4}, "successes": {"count": 4,
                   "latency": {"time_to_first_token": {"mean": 0.02}},
                   "throughput": {"requests_per_sec": 1.0},
                   "prompt_len": {"mean": 100}, "output_len": {"mean": 10}}})"},
        Result{"prometheus", "r.prom",
               "vllm:request_prompt_tokens_sum 400\nvllm:request_prompt_tokens_count 4\n"
               "vllm:request_generation_tokens_sum 40\nvllm:request_generation_tokens_count 4\n"
               "vllm:time_to_first_token_seconds_sum 0.08\n"
               "vllm:time_to_first_token_seconds_count 4\nvllm:request_success_total 4\n"},
        Result{"aiperf_table", "r.csv",
               "Metric,avg,p50\nTime to First Token (ms),20,20\n"
               "Input Sequence Length (tokens),100,100\n"
               "Output Sequence Length (tokens),10,10\n\nMetric,Value\n"
               "Request Count (requests),4\nRequest Throughput (requests/sec),1.0\n"},
        Result{"llmperf_individual", "r.json",
               R"([{"error_code": null, "ttft_s": 0.02, "end_to_end_latency_s": 0.1,
                    "number_output_tokens": 10, "number_input_tokens": 100}])"},
        Result{"llm_d", "r.json",
               R"({"version": "0.2", "run": {}, "scenario": {"load": {"standardized": {}}},
                   "results": {"request_performance": {"aggregate": {
                     "requests": {"total": 4, "failures": 0,
                       "input_length": {"units": "count", "mean": 100},
                       "output_length": {"units": "count", "mean": 10}},
                     "latency": {"time_to_first_token": {"units": "s", "mean": 0.02}}}}}})"}),
    [](const auto& tested) { return std::string(tested.param.tool); });

TEST_F(ValidateResult, WhatIsAllAtOnceByDefinitionNeedsNoRate) {
  const json throughput = case_of(R"({"elapsed_time": 2.0, "num_requests": 4,
      "total_num_tokens": 440, "requests_per_second": 2.0, "tokens_per_second": 220.0})",
                                  "--input-len 100 --output-len 10");
  EXPECT_EQ(throughput["answered"], true) << throughput["reason"];
  const std::string latency = R"({"avg_latency": 0.1, "latencies": [0.1], "percentiles": {}})";
  EXPECT_THAT(
      case_of(latency, "--input-len 100 --output-len 10")["reason"].get<std::string>(),
      HasSubstr("does not state the number of requests sent at once, expected `num_prompts`"));
  EXPECT_EQ(case_of(latency, "--meta batch_size=8 input_len=100 output_len=10")["answered"], true);
  const json unlimited = case_of(R"({"engine": {"model": "llama-3.1-8b"},
      "world_info": {"tp_size": 1, "pp_size": 1, "world_size": 1, "issue_rate": -1},
      "request_info": {"num_requests": 4, "avg_input_length": 100, "avg_output_length": 10},
      "performance": {"request_throughput_req_s": 2.0}})");
  EXPECT_EQ(unlimited["answered"], true) << unlimited["reason"];
}

TEST_F(ValidateResult, ARateOnTopOfAFileThatKeepsItsRequestsRedrawsTheirTimes) {
  const std::string text = R"({"request_throughput": 10.0, "num_prompts": 2, "request_rate": "inf",
      "total_output_tokens": 8, "mean_ttft_ms": 20.0, "input_lens": [100, 2000],
      "output_lens": [4, 4], "start_times": [5.0, 5.0], "ttfts": [0.02, 0.02]})";
  const auto ttft = [](const json& one) { return one["figures"][0]["predicted"].get<double>(); };
  // Alone, neither waits for the other's prompt.
  EXPECT_LT(ttft(case_of(text, "--request-rate 0.01")), ttft(case_of(text)));
}

/// A result of `vllm bench serve` with additional keys.
std::string serve_result(const std::string& keys = "") {
  return R"({"request_throughput": 2.0, "num_prompts": 4, "request_rate": 2.0, "completed": 4,
      "duration": 2.0, "total_input_tokens": 4000, "total_output_tokens": 40,
      "mean_ttft_ms": 20.0, "mean_tpot_ms": 7.0)" +
         keys + "}";
}

double predicted(const json& one, const std::string& name) {
  for (const json& figure : one["figures"]) {
    if (figure["name"] == name) return figure["predicted"].get<double>();
  }
  ADD_FAILURE() << one.dump();
  return -1;
}

TEST_F(ValidateResult, SettingsOfTheEngineAreHeardAsNumbersAndAsTexts) {
  const std::string all_at_once = R"(, "request_rate": "inf", "max_num_seqs": )";
  const double alone = predicted(case_of(serve_result(all_at_once + "1")), "ttft_s");
  EXPECT_GT(alone, predicted(case_of(serve_result(all_at_once + "4")), "ttft_s"));
  EXPECT_EQ(predicted(case_of(serve_result(all_at_once + "\"1\"")), "ttft_s"), alone);
  EXPECT_EQ(predicted(case_of(serve_result(R"(, "request_rate": "inf")"), "--meta max_num_seqs=1"),
                      "ttft_s"),
            alone);
  const std::string header =
      ",request_throughput,num_prompts,request_rate,completed,total_input_tokens,"
      "total_output_tokens,mean_ttft_ms,max_num_seqs,enforce_eager\n";
  const std::string row = "0,2.0,4,inf,4,4000,40,20.0,1,False\n";
  EXPECT_EQ(predicted(case_of(header + row, "", "summary.csv"), "ttft_s"), alone);
  EXPECT_THAT(case_of(serve_result(R"(, "max_num_seqs": "many")"))["reason"].get<std::string>(),
              HasSubstr("max_num_seqs: 'many' is not a whole number"));
  EXPECT_THAT(case_of(serve_result(R"(, "enforce_eager": "perhaps")"))["reason"].get<std::string>(),
              HasSubstr("enforce_eager: 'perhaps' is not true or false"));
}

TEST_F(ValidateResult, AMetaKeyThatChangesNothingIsTold) {
  std::ofstream("r.json") << serve_result();
  const CommandResult result = run_command(
      "validate r.json --model llama-3.1-8b --gpu h100 --no-store "
      "--meta max_num_seq=2 tp=1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err,
            "--meta: max_num_seq is unknown and has no effect, did you mean 'max_num_seqs'?\n");
}

TEST_F(ValidateResult, ADeploymentThatIsNotUnderstoodIsNotJudged) {
  struct Case {
    const char *keys, *reason;
  };
  for (const Case& tried : std::vector<Case>{
           {R"(, "disagg": true)", "prefills and decodes on separate GPUs"},
           {R"(, "disaggregation_mode": "decode")", "prefills and decodes on separate GPUs"},
           {R"(, "is_multinode": "True")", "ran on several nodes"},
           {R"(, "spec_decoding": "mtp")", "ran with speculative decoding"},
           {R"(, "spec_decode_acceptance_length": 2.4)", "ran with speculative decoding"},
           {R"(, "replicas": 2)", "ran on 2 replicas"},
           {R"(, "gpus": 8)", "ran on 8 GPUs, and its TP x PP x DP is 1"}}) {
    const json one = case_of(serve_result(tried.keys));
    EXPECT_EQ(one["answered"], false) << tried.keys;
    EXPECT_THAT(one["reason"].dump(), HasSubstr(tried.reason)) << tried.keys;
  }
  for (const char* harmless :
       {R"(, "disagg": false)", R"(, "disaggregation_mode": "null")", R"(, "is_multinode": "0")",
        R"(, "spec_decoding": "none")", R"(, "replicas": 1)", R"(, "gpus": "8", "tp": "8")"}) {
    const json one = case_of(serve_result(harmless));
    EXPECT_EQ(one["answered"], true) << harmless << one["reason"];
  }
  EXPECT_EQ(case_of(serve_result(R"(, "gpus": 8)"), "--tp 8")["answered"], true);
}

TEST_F(ValidateResult, WhatTheFileLeavesOutOfItsEngineIsNoted) {
  const auto notes = [&](const std::string& keys) {
    std::ofstream("r.json") << serve_result(keys);
    return json::parse(run_command("validate r.json --model llama-3.1-8b --gpu h100 --no-store "
                                   "-o json")
                           .out)["cases"][0]["notes"]
        .dump();
  };
  EXPECT_THAT(notes(R"(, "backend": "openai-chat")"),
              HasSubstr("engine not stated: assumed vllm-0.19 (`engine`)"));
  EXPECT_THAT(notes(R"(, "backend": "vllm")"),
              HasSubstr("version of vllm not stated: assumed vllm-0.19"));
  EXPECT_THAT(notes(R"(, "backend": "vllm", "vllm_version": "0.19.0")"),
              Not(HasSubstr("not said")));
}

TEST_F(ValidateResult, AFileThatStatesNoGpusIsSaidToBeTakenForOne) {
  const auto notes = [&](const std::string& keys, const std::string& flags = "") {
    return case_of(serve_result(keys), flags)["notes"].dump();
  };
  const auto assumed =
      HasSubstr("number of GPUs not stated: assumed TP 1 (`tensor_parallel_size`)");
  EXPECT_THAT(notes(""), assumed);
  EXPECT_THAT(notes(R"(, "gpus": 1)"), Not(assumed));
  EXPECT_THAT(notes(R"(, "tp": 2)"), Not(assumed));
  EXPECT_THAT(notes("", "--tp 1"), Not(assumed));
}

TEST_F(ValidateResult, ContradictionsOfTheFileStandBesideItsErrors) {
  const std::string text = serve_result(R"(, "failed": 40)");
  EXPECT_THAT(case_of(text)["warnings"].dump(), HasSubstr("40 requests failed"));
  const CommandResult table =
      run_command("validate r.json --model llama-3.1-8b --gpu h100 --no-store");
  EXPECT_THAT(table.out, HasSubstr("40 requests failed"));
  EXPECT_THAT(table.out, HasSubstr("engine not stated"));
}

TEST_F(ValidateResult, AStartUpLogIsAboutMemoryAndNeedsNoLoad) {
  const json one = case_of(
      "INFO Initializing a V1 LLM engine (v0.11.0) with config: model='x', max_seq_len=8192,\n"
      "INFO Available KV cache memory: 50.00 GiB\n"
      "INFO GPU KV cache size: 409,600 tokens\n",
      "", "server.log");
  EXPECT_EQ(one["answered"], true) << one["reason"];
  const json plan = json::parse(
      run_command(
          "memory --model llama-3.1-8b --gpu h100 --engine vllm --max-model-len 8192 -o json")
          .out);
  EXPECT_EQ(predicted(one, "kv_tokens"), plan["kv_tokens"]);
  // 8 KV heads of 128 in K and V, 32 layers, 2 bytes: 131,072 a token; up to a block stays over.
  EXPECT_NEAR(predicted(one, "kv_bytes"), 131072 * predicted(one, "kv_tokens"), 131072 * 16);
}

TEST_F(ValidateResult, OnlyWhatWasMeasuredIsCompared) {
  const json positive = case_of(serve_result());
  for (const json& figure : positive["figures"]) EXPECT_NE(figure["name"], "e2e_s");
  const json negative = case_of(serve_result(R"(, "p99_ttft_ms": -50.0)"));
  for (const json& figure : negative["figures"]) EXPECT_GE(figure["measured"], 0);
}

TEST_F(ValidateResult, AManifestAsksForTheLoadInItsOwnWords) {
  std::ofstream("r.json") << R"({"load_summary": {"count": 4}, "successes": {"count": 4,
      "latency": {"time_to_first_token": {"mean": 0.02}},
      "prompt_len": {"mean": 100}, "output_len": {"mean": 10}}})";
  json scenario = {{"model", "llama-3.1-8b"}, {"gpu", "h100"}};
  const auto answer = [&] {
    std::ofstream("m.json") << json{
        {"schema_version", 1},
        {"cases", {{{"scenario", scenario}, {"measured", {{"file", "r.json"}}}}}}};
    return json::parse(run_command("validate m.json --no-store -o json").out)["cases"][0];
  };
  EXPECT_THAT(answer()["reason"].get<std::string>(), HasSubstr("expected \"max_concurrency\""));
  scenario["max_concurrency"] = 1;
  EXPECT_EQ(answer()["answered"], true);
}

}  // namespace
}  // namespace roofcast::test
