// Disaggregated prefill and decode replicas.
#include <gmock/gmock.h>

#include "tests/simulator/cluster/cluster_support.hpp"

namespace roofcast::test {
namespace {

/// Steps of 1 s, 1 byte of K and V per token, a link of 10 B/s with 0.5 s latency.
Cluster apart(std::int32_t prefill, std::int32_t decode) {
  static const FakeStepTime step_time(Seconds{1});
  const Replica replica = replica_of(plain_engine(), step_time, 1000, 1);
  Cluster cluster;
  cluster.pools = {
      {.name = "prefill", .role = PoolRole::prefill, .replica = replica, .replicas = prefill},
      {.name = "decode", .role = PoolRole::decode, .replica = replica, .replicas = decode}};
  cluster.link = {.bandwidth = BytesPerSecond{10}, .latency = Seconds{0.5}};
  return cluster;
}

// vLLM. Prompt 0-1 s; 10 B leave until 2 s and are there at 2.5 s. The decode replica computes the
// last token of the prompt again: three steps, for a token each, until 5.5 s.
TEST(Disaggregation, TheDecodeReplicaOfVllmSamplesEveryToken) {
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const auto result = simulate(apart(1, 1), batch_of({{10, 3}}), {.engine_kind = kind});
    const RequestRecord& record = result.requests[0];
    EXPECT_EQ(record.queued, 0);
    EXPECT_EQ(record.scheduled, 0);
    EXPECT_EQ(record.first_token, 3 * kSecond + kHalfSecond);
    EXPECT_EQ(record.finished, 5 * kSecond + kHalfSecond);
    EXPECT_EQ(record.largest_gap, kSecond);
    EXPECT_EQ(record.replica, 1);
    EXPECT_EQ(result.use.prefill_tokens, 11);
    EXPECT_EQ(result.use.decode_tokens, 2);
    EXPECT_EQ(result.use.mean_waiting, 0);
    EXPECT_EQ(result.itl.count, 2);
  }
}

// SGLang and TensorRT-LLM send the prefill replica's token on when the request is scheduled, at
// 2.5 s, and sample the two others until 4.5 s.
TEST(Disaggregation, OtherDecodeReplicasSendTheFirstTokenOn) {
  for (const SchedulerKind scheduler : {SchedulerKind::sglang, SchedulerKind::tensorrt_llm}) {
    for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
      Cluster cluster = apart(1, 1);
      for (Pool& pool : cluster.pools) pool.replica.engine.scheduler = scheduler;
      const auto result = simulate(cluster, batch_of({{10, 3}}), {.engine_kind = kind});
      const RequestRecord& record = result.requests[0];
      EXPECT_EQ(record.first_token, 2 * kSecond + kHalfSecond);
      EXPECT_EQ(record.finished, 4 * kSecond + kHalfSecond);
      EXPECT_EQ(record.largest_gap, kSecond);
      EXPECT_EQ(result.use.decode_tokens, 2);
      EXPECT_EQ(result.itl.count, 2);
    }
  }
}

// A place for one request at a time in decode. Both caches are there by 3.5 s; the second request
// waits for the first's last token, at 4.5 s (SGLang) or, with a step more each, 5.5 s (vLLM).
TEST(Disaggregation, TheQueueOfTheDecodeReplicaIsPartOfTtft) {
  for (const auto& [scheduler, first_ends] :
       {std::pair(SchedulerKind::sglang, 4), std::pair(SchedulerKind::vllm_v1, 5)}) {
    Cluster cluster = apart(1, 1);
    for (Pool& pool : cluster.pools) pool.replica.engine.scheduler = scheduler;
    cluster.pools[1].replica.engine.max_num_seqs = 1;
    const auto result = simulate(cluster, batch_of({{10, 3}, {10, 3}}), {});
    EXPECT_EQ(result.requests[0].finished, first_ends * kSecond + kHalfSecond);
    const Nanoseconds step = scheduler == SchedulerKind::vllm_v1 ? kSecond : 0;
    EXPECT_EQ(result.requests[1].first_token, result.requests[0].finished + step);
  }
}

// Prompt 0-1 s, K and V there at 2.5 s, 2 s of handshake: the first of three steps ends at 5.5 s.
TEST(Disaggregation, BothReplicasAgreeBeforeTheCacheIsUsed) {
  Cluster cluster = apart(1, 1);
  cluster.pools[0].replica.engine.host.handover = Seconds{9};  // the decode replica's counts
  cluster.pools[1].replica.engine.host.handover = Seconds{2};
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const auto result = simulate(cluster, batch_of({{10, 3}}), {.engine_kind = kind});
    EXPECT_EQ(result.requests[0].first_token, 5 * kSecond + kHalfSecond);
    EXPECT_EQ(result.requests[0].finished, 7 * kSecond + kHalfSecond);
  }
}

/// A replica each, of TensorRT-LLM, whose steps hold prompts whole.
Cluster apart_with_tensorrt_llm() {
  Cluster cluster = apart(1, 1);
  for (Pool& pool : cluster.pools) {
    pool.replica.engine.scheduler = SchedulerKind::tensorrt_llm;
    pool.replica.engine.chunked_prefill = false;
  }
  return cluster;
}

// A step of one token holds no prompt of ten, which a decode replica computes only after an
// eviction.
TEST(Disaggregation, StepsOfADecodeReplicaNeedNoRoomForThePrompt) {
  Cluster cluster = apart_with_tensorrt_llm();
  Engine& decode = cluster.pools[1].replica.engine;
  decode.max_num_batched_tokens = 1;
  EXPECT_EQ(simulate(cluster, batch_of({{10, 3}}), {}).completed, 1);
  decode.capacity_scheduler_policy = CapacityPolicy::max_utilization;
  EXPECT_TRUE(simulate(cluster, batch_of({{10, 3}}), {}).requests[0].rejected);
}

// A step of two tokens holds no decode with its three drafts: not even a decode replica's, which
// needs no room for prompts.
TEST(Disaggregation, StepsOfADecodeReplicaNeedRoomForDrafts) {
  Cluster cluster = apart_with_tensorrt_llm();
  Engine& decode = cluster.pools[1].replica.engine;
  decode.speculation = {.draft_tokens = 3, .acceptance = {0.5, 0.25, 0.125}};
  decode.max_num_batched_tokens = 4;
  EXPECT_EQ(simulate(cluster, batch_of({{10, 3}}), {}).completed, 1);
  decode.max_num_batched_tokens = 2;
  EXPECT_TRUE(simulate(cluster, batch_of({{10, 3}}), {}).requests[0].rejected);
}

// SGLang reserves outputs and yet retracts, after which a prompt is cut at pages of four: chunks of
// three hold none. Static batching computes no prompt twice.
TEST(Disaggregation, OnlyPoliciesThatNeverRecomputeTakePromptsThatNoStepHolds) {
  Cluster cluster = apart(1, 1);
  for (Pool& pool : cluster.pools) {
    pool.replica.layout = uniform_layout(4);
    pool.replica.engine.scheduler = SchedulerKind::sglang;
  }
  cluster.pools[1].replica.engine.max_num_batched_tokens = 3;
  EXPECT_TRUE(simulate(cluster, batch_of({{10, 3}}), {}).requests[0].rejected);
  for (Pool& pool : cluster.pools) {
    pool.replica.engine.scheduler = SchedulerKind::static_batch;
    pool.replica.engine.chunked_prefill = false;
  }
  EXPECT_EQ(simulate(cluster, batch_of({{10, 3}}), {}).completed, 1);
}

TEST(Disaggregation, OneTokenNeedsNoTransfer) {
  const auto result = simulate(apart(1, 1), batch_of({{10, 1}}), {});
  EXPECT_EQ(result.requests[0].finished, 1 * kSecond);
  EXPECT_EQ(result.requests[0].replica, 0);
}

TEST(Disaggregation, TransfersOfOneReplicaTakeTurns) {
  // Both prompts in the step until 1 s. The second transfer leaves from 2 to 3 s, arrives at 3.5 s,
  // when the first request's first decode step ends, and decodes until 6.5 s.
  const auto result = simulate(apart(1, 1), batch_of({{10, 3}, {10, 3}}), {});
  EXPECT_EQ(result.requests[0].finished, 5 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[1].finished, 6 * kSecond + kHalfSecond);
}

TEST(Disaggregation, OverlappedTransfersOfABatchEndTogether) {
  // Four layers: prompts of 4 tokens are 16 B, 0.4 s of a link of 40 B/s, and computed in the step
  // until 1 s. Their last layers follow each other, until 1.1 and 1.2 s, are there 0.5 s later, and
  // two steps follow.
  Cluster cluster = apart(1, 2);
  cluster.link.bandwidth = BytesPerSecond{40};
  cluster.link.overlapped = true;
  for (Pool& pool : cluster.pools) pool.replica.layout.groups[0].layers = 4;
  const auto result = simulate(cluster, batch_of({{4, 2}, {4, 2}}), {});
  EXPECT_EQ(result.requests[0].finished, 36 * kSecond / 10);
  EXPECT_EQ(result.requests[1].finished, 37 * kSecond / 10);
}

TEST(Disaggregation, ReplicasHaveLinksOfTheirOwnUnlessTheyShareOne) {
  Cluster cluster = apart(2, 2);
  const Workload workload = batch_of({{10, 2}, {10, 2}});
  auto result = simulate(cluster, workload, {});
  EXPECT_EQ(result.requests[1].finished, 4 * kSecond + kHalfSecond);
  cluster.link.shared = true;
  result = simulate(cluster, workload, {});
  EXPECT_EQ(result.requests[0].finished, 4 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[1].finished, 5 * kSecond + kHalfSecond);
}

TEST(Disaggregation, ADecodeReplicaThatPreemptsComputesThePromptAgain) {
  // 14 blocks of one token in decode: two sequences of 6 tokens each fit when they come; when both
  // have 7 all is taken, and the later one gives way until the first is done.
  Cluster cluster = apart(1, 1);
  cluster.pools[1].replica.kv_blocks = 14 + 1;
  const auto result = simulate(cluster, batch_of({{5, 6}, {5, 6}}), {});
  EXPECT_EQ(result.completed, 2);
  EXPECT_EQ(result.requests[0].preemptions + result.requests[1].preemptions, 1);
  // The last token of each prompt, too, and the token that the victim had sampled.
  EXPECT_EQ(result.use.prefill_tokens, 10 + 2 + result.use.recomputed_tokens + 1);
}

TEST(Disaggregation, PrefillReplicasNeedRoomForThePromptAlone) {
  // 12 blocks in prefill: prompt of 10 and one token; 30 tokens in decode.
  Cluster cluster = apart(1, 1);
  cluster.pools[0].replica.kv_blocks = 12 + 1;
  EXPECT_EQ(simulate(cluster, batch_of({{10, 20}}), {}).completed, 1);
  cluster.pools[1].replica.kv_blocks = 12 + 1;
  EXPECT_EQ(simulate(cluster, batch_of({{10, 20}}), {}).rejected, 1);
  const auto result = simulate(cluster, batch_of({{15, 20}}), {});
  EXPECT_THAT(result.notes,
              testing::Contains(testing::HasSubstr(
                  "pool prefill cannot accept 1 request: larger than the whole KV cache "
                  "of 12 usable blocks (longest: 16 tokens, prompt and first token)")));
}

}  // namespace
}  // namespace roofcast::test
