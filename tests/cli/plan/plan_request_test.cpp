// Requests that `roofcast plan` accepts, and its one-line errors for others.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/json_answer.hpp"

namespace roofcast::test {
namespace {

const std::string kRequest =
    "plan --model llama-3.1-8b --request-rate 5 --num-prompts 20 --output-len 16 "
    "--slo p95:ttft:500ms p95:tpot:40ms --max-replicas 2 --top 1 --no-store ";

CommandResult requested(const std::string& more) { return run_command(kRequest + more); }

void expect_misread(const std::string& more, const std::string& about) {
  expect_misuse(kRequest + more, about);
}

TEST(PlanRequest, AProfileGivenByItsPathTakesAPriceByThatPath) {
  const TemporaryFolder folder;
  // It states no price.
  std::filesystem::copy_file(ROOFCAST_SOURCE_DIR "/hardware_profiles/amd-mi325x.json", "my.json");
  expect_misread("--gpu ./my.json --search tp=1", "--price ./my.json=2.5");
  expect_misread("--gpu ./my.json --search tp=1 --price h100=2", "(./my.json)");
  const CommandResult priced =
      requested("--gpu ./my.json --search tp=1 --price ./my.json=2.5 --available ./my.json=1");
  EXPECT_EQ(priced.exit_code, 0) << priced.err;
  EXPECT_NE(priced.out.find("$2.50 per hour"), std::string::npos) << priced.out;
}

TEST(PlanRequest, NoGpuAtAllIsMisuse) { expect_misread("--gpu ,", "--gpu: ',' contains no GPU"); }

TEST(PlanRequest, SearchTakesSeveralKnobsAndIsNamedInItsErrors) {
  expect_misread("--gpu h100 --search tp=2,2", "--search: 'tp=2,2' contains the value 2 twice");
  expect_misread("--gpu h100 --search tp", "--search: 'tp' is not of the form KEY=A,B,C, KEY=LOW");
  const CommandResult result = requested("--gpu h100 --search tp=1 kv=default,fp8 -o json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("kv_cache_dtype"), std::string::npos);
}

TEST(PlanRequest, AFlagWhoseKnobIsSearchedIsRefused) {
  expect_misread("--gpu h100 --tp 4 --search tp=1,2", "conflicts with --tensor-parallel-size");
  expect_misread("--gpu h100 --max-num-seqs 8 --search max_num_seqs=8,16",
                 "conflicts with --max-num-seqs");
  expect_misread("--gpu h100 --engine sglang --search engine=vllm", "conflicts with --engine");
}

TEST(PlanRequest, AShareOfGoodRequestsIsGivenInPercentAndUnderEitherName) {
  const std::string load = "--gpu h100 --search tp=1 --goodput ttft:500 ";
  const CommandResult share = requested(load + "--goodput-share 0.95");
  EXPECT_EQ(share.exit_code, 0) << share.err;
  EXPECT_EQ(requested(load + "--goodput-share 95%").out, share.out);
  EXPECT_EQ(requested(load + "--min-goodput 95%").out, share.out);
  expect_misread(load + "--min-goodput 0", "above 0");
  expect_misread(load + "--min-goodput 0.9 --goodput-share 0.9", "more than once");
  expect_misread("--gpu h100 --min-goodput 0.9", "--min-goodput: needs --goodput");
}

TEST(PlanRequest, AnEmptyStockIsNamedAsALimit) {
  const CommandResult result = requested("--gpu h100 --search tp=1 --available h100=0");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.out.find("a stock of 0 GPUs allows 0"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("The limits contradict the SLO"), std::string::npos);
}

TEST(PlanRequest, PowerIsAlsoCalledEnergy) {
  const CommandResult power = requested("--gpu h100 --search tp=1 --objective power");
  EXPECT_EQ(power.exit_code, 0) << power.err;
  EXPECT_NE(power.out.find("Lowest power: "), std::string::npos);
  EXPECT_NE(power.out.find("Ranked by the watts that the boards may draw"), std::string::npos);
  EXPECT_EQ(requested("--gpu h100 --search tp=1 --objective energy").out, power.out);
}

}  // namespace
}  // namespace roofcast::test
