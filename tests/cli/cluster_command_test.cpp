// roofcast simulate with several replicas.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/json_answer.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kCluster =
    "simulate --no-store --model llama-3.1-8b --gpu h100 --num-prompts 60 --request-rate 20 "
    "--input-len 512 --output-len 16 ";

Json answer_of_cluster(const std::string& flags) { return json_answer(kCluster + flags); }

TEST(ClusterCommand, ReplicasAndRouterAreKeptInTheScenario) {
  const Json parsed = answer_of_cluster("--replicas 3 --router least-outstanding");
  EXPECT_EQ(parsed["requests_completed"], 60);
  const Json& cluster = parsed["inputs"]["scenario"]["cluster"];
  EXPECT_EQ(cluster["pools"][0]["replicas"], 3);
  EXPECT_EQ(cluster["router"], "least_outstanding");
}

TEST(ClusterCommand, FourReplicasAnswerSoonerThanOne) {
  EXPECT_LT(answer_of_cluster("--replicas 4")["e2e_s"]["mean"],
            answer_of_cluster("")["e2e_s"]["mean"]);
}

TEST(ClusterCommand, PrefillAndDecodeApartCostATransferAndSayOverWhat) {
  // 512 tokens of 131,072 B over 1 GB/s take 67 ms, which every request waits for its first token.
  const Json slow = answer_of_cluster("--prefill-replicas 1 --decode-replicas 1 --kv-link 1GB");
  const Json fast = answer_of_cluster("--prefill-replicas 1 --decode-replicas 1 --kv-link nvlink4");
  EXPECT_EQ(fast["requests_completed"], 60);
  EXPECT_GT(slow["ttft_s"]["min"].get<double>(), 0.067);
  EXPECT_LT(fast["ttft_s"]["min"].get<double>(), 0.067);
  EXPECT_THAT(fast["notes"].dump(), HasSubstr("450 GB/s per GPU, the peak of nvlink4"));
}

TEST(ClusterCommand, DataParallelRanksShareTheLoad) {
  const Json parsed = answer_of_cluster("--dp 2");
  EXPECT_EQ(parsed["requests_completed"], 60);
  EXPECT_THAT(parsed["notes"].dump(),
              HasSubstr("2 data-parallel ranks per replica, each independently"));
}

TEST(ClusterCommand, ContradictionsAreNamed) {
  EXPECT_THAT(run_command(kCluster + "--replicas 2 --prefill-replicas 1").err,
              HasSubstr("--replicas excludes --prefill-replicas"));
  EXPECT_THAT(run_command(kCluster + "--prefill-replicas 1").err, HasSubstr("require each other"));
  EXPECT_THAT(run_command(kCluster + "--router best").err,
              HasSubstr("expected one of round_robin"));
  EXPECT_THAT(run_command(kCluster + "--kv-link string").err, HasSubstr("infiniband-ndr"));
  EXPECT_THAT(run_command(kCluster + "--kv-link 1").err, HasSubstr("at least 1e+06"));
  EXPECT_THAT(run_command(kCluster + "--replicas 1000000000").err,
              HasSubstr("--replicas: 1000000000 given, expected at most 10000"));
}

}  // namespace
}  // namespace roofcast::test
