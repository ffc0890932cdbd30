// The cluster of a scenario file.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Scenario with_cluster(const std::string& cluster) {
  return parse_scenario(
      R"({"model": "m", "gpu": "g", "workload": {"type": "synthetic"}, "cluster": )" + cluster +
          "}",
      "c.json");
}

TEST(ScenarioCluster, ReadsBackWhatItWrites) {
  const Scenario scenario = with_cluster(R"({
    "pools": [
      {"name": "p", "role": "prefill", "replicas": 2, "gpu": "h100", "quantization": "fp8"},
      {"name": "d", "role": "decode", "parallel": {"data": 4}, "lockstep": false,
       "engine_options": {"max_num_seqs": 64},
       "autoscaling": {"max_replicas": 5, "metric": "utilisation", "start_up_s": 0}}],
    "router": "prefix-affinity", "decode_router": "least_kv", "cache_threshold": 0,
    "kv_link": {"name": "nvlink4", "overlapped": true},
    "failures": [{"time_s": 1.5, "pool": "d", "requests": "lost", "back_after_s": 0}]})");
  const ClusterScenario& cluster = *scenario.cluster;
  EXPECT_EQ(cluster.pools[0].own.gpu, "h100");
  EXPECT_EQ(cluster.pools[1].own.parallel.data, 4);
  EXPECT_EQ(cluster.pools[1].own.overrides.max_num_seqs, 64);
  EXPECT_EQ(cluster.pools[1].autoscaling->max_replicas, 5);
  EXPECT_EQ(cluster.pools[1].autoscaling->interval, 15'000'000'000);
  EXPECT_EQ(cluster.router.policy, RouterPolicy::prefix_affinity);
  EXPECT_EQ(cluster.decode_router.policy, RouterPolicy::least_kv);
  EXPECT_EQ(cluster.link.bandwidth, BytesPerSecond{450e9});
  EXPECT_TRUE(cluster.link.overlapped);
  EXPECT_EQ(cluster.failures[0].pool, 1);
  EXPECT_EQ(cluster.failures[0].time, 1'500'000'000);
  EXPECT_EQ(cluster.failures[0].back_after, 0);
  const std::string text = to_json(scenario);
  EXPECT_EQ(to_json(parse_scenario(text, "again")), text);
}

TEST(ScenarioCluster, APoolsOptionsAreNotEmptyWhereTheScenarioHasSome) {
  const auto pools = [](const char* options) {
    return std::string(R"({"model": "m", "gpu": "g", "workload": {"type": "synthetic"},)") +
           options + R"("cluster": {"pools": [{"engine_options": {}}]}})";
  };
  EXPECT_NO_THROW(parse_scenario(pools(""), "c.json"));
  EXPECT_THAT(
      [&] { parse_scenario(pools(R"("engine_options": {"max_num_seqs": 8},)"), "c.json"); },
      ThrowsMessage<Error>(HasSubstr("expected pools whose engine_options have an option")));
}

TEST(ScenarioCluster, WithoutPoolsItIsOneReplica) {
  EXPECT_EQ(with_cluster(R"({"router": "random"})").cluster->pools.size(), 1u);
}

TEST(ScenarioCluster, AMistakeIsNamedByItsKey) {
  const auto complaint = [](const char* cluster, const char* key, const char* expected) {
    EXPECT_THAT(
        [&] { with_cluster(cluster); },
        ThrowsMessage<Error>(AllOf(HasSubstr("c.json: "), HasSubstr(key), HasSubstr(expected))));
  };
  complaint(R"({"router": "best"})", "cluster.router", "round_robin");
  complaint(R"({"pools": [{"role": "prefil"}]})", "role", "both, prefill or decode");
  complaint(R"({"pools": [{}, {}]})", "name", "no other pool has");
  complaint(R"({"kv_link": {"name": "string"}})", "kv_link.name", "infiniband-ndr");
  complaint(R"({"kv_link": {"bandwidth_bytes_per_s": 999999}})", "bandwidth_bytes_per_s",
            "1e+06 bytes per second or more");
  complaint(R"({"kv_link": {"latency_s": 3601}})", "latency_s", "from 0 to 3600");
  complaint(R"({"failures": [{"time_s": 1, "pool": "x"}]})", "pool", "the name of a pool");
  complaint(R"({"failures": [{"time_s": -1}]})", "time_s", "from 0 to ten years");
  complaint(R"({"pools": [{"autoscaling": {"max_replicas": 2, "metric": "cpu"}}]})", "metric",
            "utilisation");
  complaint(R"({"pools": [{"autoscaling": {"min_replicas": 1}}]})", "max_replicas", "is missing");
  complaint(R"({"pools": [{"autoscaling": {"max_replicas": 2, "interval_s": 1e-9}}]})",
            "interval_s", "0.001 seconds or more");
  complaint(R"({"pools": [{"replicas": 10001}]})", "replicas", "1 to 10000");
  complaint(R"({"cache_threshold": 2})", "cache_threshold", "from 0 to 1");
}

}  // namespace
}  // namespace roofcast::test
