// `roofcast plan --kubernetes`: the manifests that are written, and the message if there are none.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace
}  // namespace roofcast::test
