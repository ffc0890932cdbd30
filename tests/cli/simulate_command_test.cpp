// roofcast simulate: what it accepts, what it rejects, and what it must not touch.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/json_answer.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

const std::string kMachine = "simulate --model llama-3.1-8b --gpu h100 ";
const std::string kBase = kMachine + "--num-prompts 20 --request-rate 10 --no-store ";

TEST(SimulateCommand, RequestsAreNotWrittenOverTheStore) {
  const TemporaryFolder folder;
  const std::string load = kMachine + "--num-prompts 5 --request-rate 10 ";
  ASSERT_EQ(run_command(load + "--store x.db").exit_code, 0);
  expect_misuse(load + "--store x.db --requests-out ./x.db", "would overwrite './x.db'");
  EXPECT_EQ(run_command("runs 1 --store x.db").exit_code, 0);
  // Neither is there yet.
  expect_misuse(load + "--store new.db --requests-out new.db", "would overwrite 'new.db'");
  // A run that is not kept cannot be lost.
  EXPECT_EQ(run_command(load + "--no-store --requests-out roofcast.db").exit_code, 0);
}

// What pools answers with a vector, which counts as the one output token of a request.
TEST(SimulateCommand, WhatPoolsHasOneOutputTokenUnlessAnotherNumberIsGiven) {
  const std::string load = " --gpu l40s --request-rate 10 --input-len 100 --no-store ";
  for (const char* model : {"bge-m3", "qwen3-embedding-8b --pooling"}) {
    const std::string asked = model + load;
    const Json answer = json_answer("simulate --num-prompts 20 --model " + asked, 0);
    EXPECT_EQ(answer["inputs"]["scenario"]["workload"]["output_len"], 1) << answer["inputs"];
    EXPECT_EQ(answer["requests_completed"], 20);
    expect_misuse("simulate --num-prompts 20 --output-len 128 --model " + asked,
                  "a request has 128 output tokens");
    // As many requests as a verdict needs, drawn as the load grows.
    EXPECT_EQ(run_command("simulate --slo p95:ttft:1s --model " + asked).exit_code, 0);
    const CommandResult capacity = run_command("capacity --slo p95:ttft:1s --model " + asked);
    EXPECT_EQ(capacity.exit_code, 0) << capacity.err;
    const Json what_if = json_answer("whatif --seeds 2 --vary max_num_seqs=64 --model " + asked, 0);
    for (const Json& variant : what_if["variants"]) {
      EXPECT_EQ(variant["scenario"]["workload"]["output_len"], 1);
    }
    const CommandResult plan = run_command("plan --slo p95:ttft:1s --model " + asked);
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
  }
  const Json generated = json_answer("simulate --num-prompts 20 --model llama-3.1-8b" + load, 0);
  EXPECT_EQ(generated["inputs"]["scenario"]["workload"]["output_len"], 128);
}

// 40 sessions that start within 20 s and think for 7 x 5 s are served over more than 50 s.
TEST(SimulateCommand, SaysWhySessionsAreServedAtALowerRateThanOffered) {
  const std::string sessions =
      kMachine + "--num-prompts 40 --turns 8 --input-len 200 --output-len 20 --no-store ";
  const auto why = HasSubstr(" /s offered; the run, and so the rate served, lasts until the last");
  EXPECT_THAT(run_command(sessions + "--request-rate 2 --think-time 5").out, why);
  EXPECT_THAT(run_command(kBase).out, Not(why));
}

TEST(SimulateCommand, RequestsAreNotWrittenOverWhatIsRead) {
  const TemporaryFolder folder;
  const std::string trace = "arrival,input,output\n0,10,2\n1,10,2\n";
  std::ofstream("u.csv") << trace;
  std::ofstream("s.json") << R"({"model": "llama-3.1-8b", "gpu": "h100",
      "workload": {"type": "trace", "path": "u.csv"}})";
  std::filesystem::create_symlink("u.csv", "link.csv");
  const std::string scenario = text_in("s.json");
  for (const char* out : {"u.csv", "link.csv"}) {
    expect_misuse(kMachine + "--no-store --trace u.csv --requests-out " + out, out);
    expect_misuse(std::string("trace --trace u.csv --out ") + out, "--out: ");
  }
  expect_misuse("simulate s.json --no-store --requests-out s.json", "s.json");
  expect_misuse("simulate s.json --no-store --requests-out u.csv", "u.csv");
  std::ofstream("lengths.csv") << "input,output\n10,2\n";
  expect_misuse(kBase + "--input-len empirical:lengths.csv --requests-out lengths.csv",
                "lengths.csv");
  EXPECT_EQ(text_in("u.csv"), trace);
  EXPECT_EQ(text_in("s.json"), scenario);
}

TEST(SimulateCommand, AModelThatDoesNotFitIsANo) {
  const CommandResult result =
      run_command("simulate --model llama-3.1-70b --gpu rtx-4090 --no-store -o json");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err, "");
  const Json parsed = Json::parse(result.out);
  EXPECT_FALSE(parsed["fits"].get<bool>());
  EXPECT_THAT(parsed["reason"].get<std::string>(), HasSubstr("does not fit on"));
  EXPECT_TRUE(json_answer(kBase)["fits"].get<bool>());
}

TEST(SimulateCommand, TargetsHoldForAllRequestsWhateverTheirClass) {
  const TemporaryFolder folder;
  std::ofstream("t.csv") << "arrival,input,output,class\n0,10,2,chat\n1,10,2,batch\n2,10,2,chat\n";
  const Json parsed =
      json_answer(kMachine + "--no-store --trace t.csv --slo p50:ttft:10s --requests-out r.csv");
  ASSERT_EQ(parsed["slo"]["targets"].size(), 1U);
  EXPECT_EQ(parsed["slo"]["targets"][0]["class"], "all");
  EXPECT_EQ(parsed["slo"]["targets"][0]["attainment"], 1.0);
  EXPECT_TRUE(parsed["slo"]["met"].get<bool>());
  EXPECT_THAT(text_in("r.csv"), HasSubstr(",batch,"));
  // The scenario that is kept means the same.
  std::ofstream("s.json") << parsed["inputs"]["scenario"];
  EXPECT_EQ(json_answer("simulate s.json --no-store")["slo"], parsed["slo"]);
}

// Two replicas in turn: each follow-up turn finds its prefix on the other one.
TEST(SimulateCommand, AdvisesARouterWhereTurnsAreSpread) {
  const std::string turns = kMachine +
                            "--replicas 2 --num-prompts 20 --request-rate 1 --turns 3 "
                            "--think-time exponential:1 --input-len 200 --output-len 20 "
                            "--no-store -o json";
  const Json spread = Json::parse(run_command(turns).out);
  EXPECT_THAT(spread["advice"].dump(), HasSubstr("prefix_affinity"));
  const Json kept = Json::parse(run_command(turns + " --router prefix_affinity").out);
  EXPECT_THAT(kept["advice"].dump(), Not(HasSubstr("prefix_affinity")));
}

// 12 prompts/s of 4,000 tokens need 2 x 8e9 x 48,000 = 770 TFLOP/s: more than one H100 gives, while
// two decode 12 x 20 tokens/s.
TEST(SimulateCommand, AdvisesWhichPoolIsShort) {
  const Json answer = Json::parse(
      run_command(kMachine +
                  "--prefill-replicas 1 --decode-replicas 2 --num-prompts 200 --request-rate 12 "
                  "--input-len 4000 --output-len 20 --slo p95:ttft:500ms p95:tpot:100ms --no-store "
                  "-o json")
          .out);
  EXPECT_THAT(answer["advice"].dump(),
              HasSubstr("more prefill replicas in place of decode replicas"));
}

TEST(SimulateCommand, ATargetWithoutAUnitIsMisuse) {
  expect_misuse(kBase + "--slo p99:e2e:0.5", "bare numbers are milliseconds, from 1 on");
}

TEST(SimulateCommand, ANumberBelowAKnobsRangeIsToldTheRange) {
  expect_misuse(kBase + "--engine vllm-0.24 --prefill-schedule-interval -1",
                "--prefill-schedule-interval: -1 given, expected 1 to");
  expect_misuse(kBase + "--max-num-seqs -4", "--max-num-seqs: -4 given, expected 1 to");
  expect_misuse(
      "simulate --model qwen3-vl-8b --gpu h100 --limit-mm-per-prompt 9223372036854775807 "
      "--no-store",
      "--limit-mm-per-prompt: 9223372036854775807 given, expected 0 to 10000");
  expect_misuse("simulate --model deepseek-v3 --gpu h200 --tp 8 --expert-power-law -1 --no-store",
                "--expert-power-law: -1 given, expected 0 to");
}

// Llama-3.1-8B on an H100 leaves some 43 GiB for K and V; 100 GiB of host memory on each of two
// replicas of a node are 200.
TEST(SimulateCommand, HostMemoryIsThatOfAllReplicasOfANode) {
  const std::string kept = kBase + "--kv-offloading-size 100GiB --host-memory 150GiB";
  EXPECT_EQ(run_command(kept).exit_code, 0);
  const CommandResult refused = run_command(kept + " --replicas 2");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.out + refused.err,
              HasSubstr("need 200.0 GiB of a node, which has 2 replicas of 1 x 100.0 GiB"));
}

TEST(SimulateCommand, FlagsThatWouldChangeNothingAreMisuse) {
  expect_misuse(kBase + "--acceptance-rate 0.7", "--acceptance-rate: requires");
  expect_misuse(kBase + "--draft-pass-time 1ms", "--draft-pass-time: requires");
  expect_misuse(kBase + "--kv-offloading-bandwidth 25GB",
                "--kv-offloading-bandwidth: requires --kv-offloading-size");
  expect_misuse(kBase + "--max-loras 4", "--max-loras: requires --lora-adapters");
  expect_misuse(kBase + "--lora-step-time 1ms", "--lora-step-time: requires --lora-adapters");
  expect_misuse(kBase + "--lora-zipf 1", "--lora-zipf: needs --lora-adapters");
  expect_misuse(kBase + "--lora-adapters 8 --engine sglang", "--lora-adapters: given for sglang");
  expect_misuse(kBase + "--lora-adapters 8 --engine trtllm", "--lora-adapters: given for trtllm");
  expect_misuse(kBase + "--router random", "--router: needs");
  expect_misuse(kBase + "--kv-link nvlink4", "--kv-link: needs");
  expect_misuse(kBase + "--replicas 2 --kv-link nvlink4", "--kv-link: needs");
  expect_misuse(kBase + "--overhead 1GB", "overhead: not supported by vllm-0.19");
  expect_misuse(kBase + "--range-ratio-style sglang", "--range-ratio-style: needs");
  expect_misuse(kBase + "--engine sglang --watermark 0.01", "watermark: not supported by sglang");
  expect_misuse(kMachine + "--no-store --burstiness 0.5", "--burstiness: needs a rate");
}

TEST(SimulateCommand, TheSameFlagsAreTakenBesideWhatTheyDescribe) {
  json_answer(kBase + "--num-speculative-tokens 2 --acceptance-rate 0.7 --draft-pass-time 1ms");
  json_answer(kBase + "--lora-adapters 8 --lora-zipf 1 --max-loras 4 --lora-step-time 1ms");
  json_answer(kBase + "--replicas 2 --router random");
  json_answer(kBase + "--random-range-ratio 0.5 --range-ratio-style sglang --burstiness 0.5");
  json_answer(kMachine + "--no-store --num-prompts 3 --burstiness 1");
}

TEST(SimulateCommand, TraceFlagsNeedATrace) {
  for (const char* flag : {"--time-scale 2", "--skip-bad-rows", "--trace-time-unit ms",
                           "--trace-rate 3", "--drop-failed"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find(' '));
    expect_misuse(kMachine + "--no-store " + flag, name + ": needs --trace");
  }
}

TEST(SimulateCommand, ATraceWhereAScenarioBelongsGetsAPointer) {
  expect_misuse("simulate t.csv", "to replay a trace use --trace t.csv");
  expect_misuse("simulate conversation.jsonl.gz", "--trace conversation.jsonl.gz");
}

TEST(SimulateCommand, ASwitchDoesNotTakeTheScenarioAsItsValue) {
  const TemporaryFolder folder;
  std::ofstream("s.json") << R"({"model": "llama-3.1-8b", "gpu": "h100",
      "workload": {"type": "synthetic", "num_prompts": 2}})";
  const auto eager = [](const std::string& words) {
    return json_answer("simulate --no-store " + words)["inputs"]["engine"]["enforce_eager"];
  };
  EXPECT_EQ(eager("--enforce-eager s.json"), true);
  EXPECT_EQ(eager("--enforce-eager off s.json"), false);
  EXPECT_EQ(eager("s.json --enforce-eager"), true);
}

TEST(SimulateCommand, VllmsAutoIsTaken) {
  const auto length = [](const std::string& flags) {
    return json_answer(kMachine + "--num-prompts 2 --no-store " +
                       flags)["inputs"]["engine"]["max_model_len"];
  };
  EXPECT_EQ(length("--dtype auto"), 131'072);
  EXPECT_EQ(length("--max-model-len auto"), 131'072);  // fits, so the model's own
  EXPECT_EQ(length("--max-model-len -1"), 131'072);
  // 2,000 blocks of 16 tokens, one of them vLLM's null block: 31,984 tokens at most.
  EXPECT_EQ(length("--max-model-len auto --num-gpu-blocks-override 2000"), 31'984);
}

const std::string kSmallCache =
    kMachine + "--num-prompts 2 --no-store " + "--num-gpu-blocks-override 2000 --engine ";

TEST(SimulateCommand, SglangServesWhatItsCacheHolds) {
  const auto length = [](const std::string& words) {
    return json_answer(words)["inputs"]["engine"]["max_model_len"];
  };
  EXPECT_EQ(length(kMachine + "--num-prompts 2 --no-store --engine sglang"), 131'072);
  // It starts with 2,000 tokens (tp_worker.py, max_req_len); vLLM does not.
  EXPECT_EQ(length(kSmallCache + "sglang"), 2'000);
  EXPECT_EQ(run_command(kSmallCache + "vllm").exit_code, 3);
  EXPECT_EQ(run_command(kSmallCache + "sglang --max-model-len 4096").exit_code, 3);
}

// A request has a page and a decode's slot beside its own tokens (PrefillAdder): of 2,000 tokens
// 1,998, and of 2,000 pages of 16 tokens 32,000 - 16 - 1 = 31,983.
TEST(SimulateCommand, SglangSaysWhatItsSchedulerAccepts) {
  struct Limit {
    std::string flags{};
    std::string says{};
    int input = 0;
  };
  for (const Limit& limit : {Limit{"sglang", "up to 1,998 tokens", 1'988},
                             Limit{"sglang --block-size 16", "up to 31,983 tokens", 31'973}}) {
    const std::string words = kSmallCache + limit.flags + " --output-len 10 --input-len ";
    EXPECT_THAT(run_command(words + "8").out,
                HasSubstr("sglang accepts requests of " + limit.says));
    EXPECT_EQ(json_answer(words + std::to_string(limit.input))["requests_completed"], 2);
    EXPECT_EQ(json_answer(words + std::to_string(limit.input + 1), 3)["requests_completed"], 0);
  }
}

// Each pool says it of its own, and the time in which they agree is noted beside their link.
TEST(SimulateCommand, PoolsApartSayWhatTheyAcceptAndHowLongTheyTakeToAgree) {
  const std::string apart = kSmallCache + "sglang --prefill-replicas 1 --decode-replicas 1";
  const std::string out = run_command(apart).out;
  EXPECT_THAT(out, HasSubstr("pool prefill: sglang accepts requests of up to 1,998 tokens"));
  EXPECT_THAT(out, HasSubstr("pool decode: sglang accepts requests of up to 1,998 tokens"));
  EXPECT_THAT(out, HasSubstr("prefill and decode replicas of sglang take 105.0 ms to agree where a "
                             "request's K and V go (handover_s), from runs of DeepSeek-R1, "
                             "carried over to other models"));
  EXPECT_THAT(run_command(kMachine + "--num-prompts 2 --no-store --engine vllm "
                                     "--prefill-replicas 1 --decode-replicas 1")
                  .out,
              Not(HasSubstr("handover_s")));
}

TEST(SimulateCommand, AClosedLoopIsReplayedAsOne) {
  const TemporaryFolder folder;
  std::ofstream("r.json") << R"({"request_throughput": 1, "request_rate": "inf",
      "max_concurrency": 1, "input_lens": [10, 10, 10], "output_lens": [4, 4, 4]})";
  const std::string base = kMachine + "--no-store --trace r.json ";
  const Json parsed = json_answer(base);
  EXPECT_EQ(parsed["inputs"]["scenario"]["max_concurrency"], 1);
  EXPECT_EQ(parsed["engine"]["running_peak"], 1);
  EXPECT_THAT(parsed["workload"]["notes"].dump(), HasSubstr("at most 1 request in flight"));
  const Json open = json_answer(base + "--max-concurrency 3");
  EXPECT_EQ(open["engine"]["running_peak"], 3);
  EXPECT_THAT(open["workload"]["notes"].dump(), Not(HasSubstr("in flight")));
}

TEST(SimulateCommand, TheStoreHoldsWhatCanBeRunAgainFromAnywhere) {
  const TemporaryFolder folder;
  std::ofstream("t 1.csv") << "arrival,input,output\n0,10,2\n1,10,2\n";
  ASSERT_EQ(run_command(kMachine + "--store x.db --trace 't 1.csv' --slo p95:ttft:10s").exit_code,
            0);
  const Json run = Json::parse(run_command("runs 1 --store x.db -o json").out);
  EXPECT_EQ(run["command_line"],
            "roofcast simulate --model llama-3.1-8b --gpu h100 --store x.db --trace 't 1.csv' "
            "--slo p95:ttft:10s");
  EXPECT_EQ(run["scenario"]["workload"]["path"],
            (std::filesystem::current_path() / "t 1.csv").string());
}

TEST(SimulateCommand, HelpAllListsWhatHelpPointsTo) {
  const std::string help = run_command("simulate --help").out;
  EXPECT_THAT(help, HasSubstr("simulate --help-all"));
  const std::string all = run_command("simulate --help-all").out;
  for (const char* flag :
       {"--stages", "--prefix-len", "--turns", "--num-speculative-tokens", "--lora-adapters",
        "--kv-offloading-size", "--trace-columns", "--watermark"}) {
    EXPECT_THAT(help, Not(HasSubstr(std::string("  ") + flag + " "))) << flag;
    EXPECT_THAT(all, HasSubstr(std::string("  ") + flag + " ")) << flag;
  }
}

// ---- pools

std::string scenario_of(const std::string& pools) {
  return R"({"model": "llama-3.1-8b", "gpu": "h100", "cluster": {"pools": [)" + pools + R"(]},
      "workload": {"type": "synthetic", "num_prompts": 20, "request_rate": 10}})";
}

constexpr const char* kMixed =
    R"({"name": "fill", "role": "prefill"},
       {"name": "emit", "role": "decode", "gpu": "l40s", "parallel": {"tensor": 2},
        "engine": "vllm-0.11", "engine_options": {"max_num_seqs": 64}})";

TEST(Pools, EachIsNamedWithWhatItRunsOn) {
  const TemporaryFolder folder;
  std::ofstream("s.json") << scenario_of(kMixed);
  const std::string text = run_command("simulate s.json --no-store").out;
  EXPECT_THAT(text, StartsWith("llama-3.1-8b: fill on NVIDIA H100 SXM, vllm-0.19; emit on 2x "
                               "NVIDIA L40S (TP 2), vllm-0.11\n"));
  EXPECT_THAT(text, HasSubstr("pool fill: KV capacity"));
  EXPECT_THAT(text, HasSubstr("pool emit: KV capacity"));
  const Json parsed = json_answer("simulate s.json --no-store");
  const Json& inputs = parsed["inputs"];
  EXPECT_FALSE(inputs.contains("gpu"));
  EXPECT_FALSE(inputs.contains("profile_hash"));
  EXPECT_TRUE(parsed["engine"]["kv_blocks"].is_null());
  ASSERT_EQ(inputs["pools"].size(), 2U);
  EXPECT_EQ(inputs["pools"][0]["name"], "fill");
  EXPECT_EQ(inputs["pools"][0]["gpu"], "nvidia-h100-sxm");
  EXPECT_EQ(inputs["pools"][1]["gpu"], "nvidia-l40s");
  EXPECT_EQ(inputs["pools"][1]["parallel"]["tensor"], 2);
  EXPECT_EQ(inputs["pools"][1]["engine"]["max_num_seqs"], 64);
  EXPECT_NE(inputs["pools"][0]["kv_blocks"], inputs["pools"][1]["kv_blocks"]);
  EXPECT_NE(inputs["pools"][0]["profile_hash"], inputs["pools"][1]["profile_hash"]);
}

TEST(Pools, TheStoreNamesAllOfThem) {
  const TemporaryFolder folder;
  std::ofstream("s.json") << scenario_of(kMixed);
  ASSERT_EQ(run_command("simulate s.json --store x.db").exit_code, 0);
  const Json run = Json::parse(run_command("runs 1 --store x.db -o json").out);
  EXPECT_EQ(run["gpu"], "nvidia-h100-sxm + nvidia-l40s");
  EXPECT_EQ(run["engine"], "vllm-0.19 + vllm-0.11");
  EXPECT_THAT(run["profile_hash"].get<std::string>(), HasSubstr(" + "));
  std::vector<std::string> of_blocks;
  for (const Json& metric : run["metrics"]) {
    if (metric["name"] == "kv_blocks") of_blocks.push_back(metric["statistic"]);
  }
  EXPECT_THAT(of_blocks, testing::UnorderedElementsAre("pool emit", "pool fill"));
}

TEST(Pools, AlikeTheyAreDescribedOnce) {
  const Json parsed = json_answer(kBase + "--prefill-replicas 1 --decode-replicas 2");
  EXPECT_EQ(parsed["inputs"]["gpu"], "nvidia-h100-sxm");
  EXPECT_EQ(parsed["inputs"]["pools"][1]["replicas"], 2);
  EXPECT_EQ(parsed["engine"]["kv_blocks"], parsed["inputs"]["pools"][0]["kv_blocks"]);
}

TEST(Pools, AFlagThatAPoolWouldNotFollowIsMisuse) {
  const TemporaryFolder folder;
  std::ofstream("s.json") << scenario_of(kMixed);
  const std::string base = "simulate s.json --no-store ";
  expect_misuse(base + "--max-num-seqs 4", "--max-num-seqs: pool 'emit'");
  expect_misuse(base + "--gpu h200", "--gpu: pool 'emit'");
  expect_misuse(base + "--tp 2", "--tensor-parallel-size: pool 'emit'");
  expect_misuse(base + "--engine sglang", "--engine: pool 'emit'");
  std::ofstream("w.json") << scenario_of(R"({"name": "only", "quantization": "fp8"})");
  expect_misuse("simulate w.json --no-store --quantization bf16", "pool 'only'");
  // Where pools have nothing of their own, flags say what all of them have.
  EXPECT_EQ(json_answer(
                "simulate w.json --no-store --max-num-seqs 4")["inputs"]["engine"]["max_num_seqs"],
            4);
}

}  // namespace
}  // namespace roofcast::test
