// roofcast simulate with several replicas.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kLoad =
    "simulate --no-store --model llama-3.1-8b --gpu h100 --num-prompts 60 --request-rate 20 "
    "--input-len 512 --output-len 16 -o json ";

Json answer(const std::string& flags) {
  const CommandResult result = run_command(kLoad + flags);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

TEST(ClusterCommand, ReplicasAndRouterAreKeptInTheScenario) {
  const Json json = answer("--replicas 3 --router least-outstanding");
  EXPECT_EQ(json["requests_completed"], 60);
  const Json& cluster = json["inputs"]["scenario"]["cluster"];
  EXPECT_EQ(cluster["pools"][0]["replicas"], 3);
  EXPECT_EQ(cluster["router"], "least_outstanding");
}

TEST(ClusterCommand, FourReplicasAnswerSoonerThanOne) {
  EXPECT_LT(answer("--replicas 4")["e2e_s"]["mean"], answer("")["e2e_s"]["mean"]);
}

TEST(ClusterCommand, PrefillAndDecodeApartCostATransferAndSayOverWhat) {
  // 512 tokens of 131,072 B over 1 GB/s take 67 ms, which every request waits for its first token.
  const Json slow = answer("--prefill-replicas 1 --decode-replicas 1 --kv-link 1GB");
  const Json fast = answer("--prefill-replicas 1 --decode-replicas 1 --kv-link nvlink4");
  EXPECT_EQ(fast["requests_completed"], 60);
  EXPECT_GT(slow["ttft_s"]["min"].get<double>(), 0.067);
  EXPECT_LT(fast["ttft_s"]["min"].get<double>(), 0.067);
  EXPECT_THAT(fast["notes"].dump(), HasSubstr("450 GB/s per GPU, the peak of nvlink4"));
}

TEST(ClusterCommand, DataParallelRanksShareTheLoad) {
  const Json json = answer("--dp 2");
  EXPECT_EQ(json["requests_completed"], 60);
  EXPECT_THAT(json["notes"].dump(),
              HasSubstr("2 data-parallel ranks per replica, each independently"));
}

TEST(ClusterCommand, ContradictionsAreNamed) {
  EXPECT_THAT(run_command(kLoad + "--replicas 2 --prefill-replicas 1").err,
              HasSubstr("--replicas excludes --prefill-replicas"));
  EXPECT_THAT(run_command(kLoad + "--prefill-replicas 1").err, HasSubstr("require each other"));
  EXPECT_THAT(run_command(kLoad + "--router best").err, HasSubstr("expected one of round_robin"));
  EXPECT_THAT(run_command(kLoad + "--kv-link string").err, HasSubstr("infiniband-ndr"));
  EXPECT_THAT(run_command(kLoad + "--kv-link 1").err, HasSubstr("at least 1e+06"));
  EXPECT_THAT(run_command(kLoad + "--replicas 1000000000").err,
              HasSubstr("--replicas: 1000000000 given, expected at most 10000"));
}

}  // namespace
}  // namespace roofcast::test
