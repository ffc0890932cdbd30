// `roofcast plan --kubernetes` and `--emit`: the files that are written, and the message if there
// are none.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

const std::string kManifestOf =
    "plan --model llama-3.1-8b --request-rate 5 --num-prompts 20 --output-len 16 --max-replicas 2 "
    "--top 1 --no-store --kubernetes m.yaml ";
const std::string kWithinLimits = "--slo p95:ttft:500ms p95:tpot:40ms ";

std::string manifest() {
  std::stringstream text;
  text << std::ifstream("m.yaml").rdbuf();
  return text.str();
}

TEST(PlanManifest, AsksForGpusOfTheirMakerAndAnImageForThem) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_command(kManifestOf + kWithinLimits + "--gpu mi300x --search tp=1 --objective gpus");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(manifest().find("amd.com/gpu: 1"), std::string::npos) << manifest();
  EXPECT_NE(manifest().find("image: rocm/vllm:"), std::string::npos);
  EXPECT_EQ(manifest().find("nvidia"), std::string::npos);
}

TEST(PlanManifest, WhatCannotBeOneIsRefusedBeforeTheSearch) {
  const TemporaryFolder folder;
  for (const char* shapes :
       {"--gpu h100 --search tp=1 --search pools=1:1", "--gpu h100 --engine textbook",
        "--gpu mi300x --objective gpus --engine sglang", "--gpu h100 --search tp=16"}) {
    const CommandResult result = run_command(kManifestOf + kWithinLimits + shapes);
    EXPECT_EQ(result.exit_code, 2) << shapes;
    EXPECT_NE(result.err.find("--kubernetes: no searched deployment is a plain Deployment"),
              std::string::npos)
        << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(PlanManifest, ABestThatCannotBeOneKeepsItsAnswer) {
  const TemporaryFolder folder;
  // SGLang on an H100 could be one; on the MI300X that is cheaper no image is known.
  const CommandResult result =
      run_command(kManifestOf + kWithinLimits +
                  "--gpu h100,mi300x --price h100=5,mi300x=1 --engine sglang --search tp=1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Cheapest: "), std::string::npos);
  EXPECT_NE(result.err.find("no manifest written"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("no container image of sglang"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists("m.yaml"));
}

TEST(PlanManifest, NoAnswerSaysThatNoneIsWritten) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_command(kManifestOf + "--slo p95:tpot:1us --gpu h100 --search tp=1");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("no manifest written"), std::string::npos) << result.err;
}

const std::string kPlanOf =
    "plan --model llama-3.1-8b --request-rate 5 --num-prompts 20 --output-len 16 --max-replicas 2 "
    "--top 1 --no-store --gpu h100 --search tp=2 --search max_num_seqs=64 ";

std::string file_text(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\nin\n" << text;
  }
}

TEST(PlanTargets, AreWrittenForEveryProjectWithItsKeys) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(
      kPlanOf + kWithinLimits + "--emit kserve=k.yaml llm-d=l.yaml dynamo=d.yaml compose=c.yaml");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_lines(file_text("k.yaml"),
               {"kind: LLMInferenceService", "    uri: \"hf://meta-llama/Llama-3.1-8B\"",
                "  replicas: 1", "        - name: VLLM_ADDITIONAL_ARGS",
                "          value: \"--tensor-parallel-size 2 --max-num-seqs 64\"",
                "            nvidia.com/gpu: \"2\""});
  expect_lines(file_text("l.yaml"),
               {"  uri: \"hf://meta-llama/Llama-3.1-8B\"", "decode:", "    tensor: 2",
                "      modelCommand: vllmServe", "        - \"--max-num-seqs\"",
                "prefill:", "  create: false"});
  EXPECT_EQ(file_text("l.yaml").find("--tensor-parallel-size"), std::string::npos);
  expect_lines(
      file_text("d.yaml"),
      {"apiVersion: nvidia.com/v1beta1", "kind: DynamoGraphDeployment", "      type: frontend",
       "      type: worker", "            - name: main", "                  nvidia.com/gpu: \"2\"",
       "                - \"--model\"", "                - \"meta-llama/Llama-3.1-8B\""});
  expect_lines(file_text("c.yaml"),
               {"services:", "  server-0:", "      - \"8000:8000\"",
                "              device_ids: [\"0\", \"1\"]", "              capabilities: [gpu]"});
}

TEST(PlanTargets, SeparatePoolsBecomePrefillAndDecodeServers) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(
      "plan --model llama-3.1-8b --request-rate 5 --num-prompts 20 --output-len 16 --top 1 "
      "--no-store --gpu h100 --search tp=1 --search pools=1:2 --max-replicas 3 " +
      kWithinLimits + "--emit kserve=k.yaml llm-d=l.yaml dynamo=d.yaml");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_lines(file_text("k.yaml"), {"  replicas: 2", "  prefill:", "    replicas: 1"});
  EXPECT_NE(file_text("k.yaml").find("NixlConnector"), std::string::npos);
  expect_lines(file_text("l.yaml"), {"    enabled: true", "        - containerPort: 8200"});
  expect_lines(file_text("d.yaml"),
               {"      type: decode", "      type: prefill",
                "                - \"--disaggregation-mode\"", "                - \"prefill\""});
}

TEST(PlanTargets, VllmsOwnConfigurationHasFlagsAsKeys) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(kPlanOf + kWithinLimits + "--emit vllm-config=v.yaml");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_lines(file_text("v.yaml"), {"model: \"meta-llama/Llama-3.1-8B\"",
                                     "tensor-parallel-size: 2", "max-num-seqs: 64"});
  const CommandResult listed = run_command(
      kPlanOf + kWithinLimits + "--cudagraph-capture-sizes 1,2,4,8 --emit vllm-config=w.yaml");
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  expect_lines(file_text("w.yaml"), {"cudagraph-capture-sizes: [1, 2, 4, 8]"});
}

// 5 requests a second on one server: 60 s of them are 300 prompts at the planned load, 240 and 360
// at a fifth less and more. Of 64 sequences half are 32; vLLM's default batch on an H100 is 8192
// tokens.
TEST(PlanTargets, ASweepMeasuresThePlanAndWhatIsNearIt) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(kPlanOf + kWithinLimits + "--emit vllm-sweep=sweep.sh");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string script = file_text("sweep.sh");
  const auto json_after = [&](const std::string& start) {
    const std::size_t begin = script.find(start) + start.size();
    return nlohmann::json::parse(script.substr(begin, script.find("\nJSON\n", begin) - begin));
  };
  const nlohmann::json servers = json_after("serve.json\" <<'JSON'\n");
  EXPECT_EQ(servers.at("planned"), nlohmann::json::object());
  EXPECT_EQ(servers.at("half-seqs").at("max_num_seqs"), 32);
  EXPECT_EQ(servers.at("twice-batch").at("max_num_batched_tokens"), 16384);
  const nlohmann::json loads = json_after("bench.json\" <<'JSON'\n");
  EXPECT_EQ(loads, nlohmann::json::parse(R"({"planned": {"num_prompts": 300, "request_rate": 5.0},
                                             "less": {"num_prompts": 240, "request_rate": 4.0},
                                             "more": {"num_prompts": 360, "request_rate": 6.0}})"));
  EXPECT_NE(script.find("--goodput ttft:500 tpot:40"), std::string::npos) << script;
  EXPECT_NE(script.find("--random-input-len 1024 --random-output-len 16"), std::string::npos);
}

TEST(PlanTargets, ASweepOfWhatTheBenchmarkCannotSendIsRefused) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_command(kPlanOf + kWithinLimits + "--turns 2 --emit vllm-sweep=sweep.sh");
  EXPECT_NE(result.err.find("its load has conversations"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists("sweep.sh"));
}

TEST(PlanTargets, AnUnknownOneAndOneForAnotherEngineAreRefused) {
  const TemporaryFolder folder;
  const CommandResult unknown = run_command(kPlanOf + kWithinLimits + "--emit nomad=n.hcl");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("dynamo, compose, vllm-config or vllm-sweep"), std::string::npos)
      << unknown.err;
  const CommandResult sglang =
      run_command(kPlanOf + kWithinLimits + "--engine sglang --emit kserve=k.yaml");
  EXPECT_EQ(sglang.exit_code, 2);
  EXPECT_NE(sglang.err.find("kserve is written for vLLM"), std::string::npos) << sglang.err;
  const CommandResult twice =
      run_command(kPlanOf + kWithinLimits + "--emit kserve=k.yaml dynamo=k.yaml");
  EXPECT_NE(twice.err.find("k.yaml is given twice"), std::string::npos) << twice.err;
}

}  // namespace
}  // namespace roofcast::test
