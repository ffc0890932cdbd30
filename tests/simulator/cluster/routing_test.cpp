// Several replicas behind one router, over whole runs.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "tests/simulator/cluster/cluster_support.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Routing, ThreeReplicasInTurnUnderThreefoldLoadAreEachTheOneReplica) {
  // A request every 0.3 s; threefold: three at each of these moments, which go to one replica each.
  const FakeStepTime step_time([](const StepBatch& batch) {
    return Seconds{0.1 + 0.01 * static_cast<double>(batch.decode_attended[0])};
  });
  const Replica replica = replica_of(plain_engine(), step_time, 8, 4);
  std::vector<Asked> once, threefold;
  for (std::int64_t i = 0; i < 40; ++i) {
    const Asked asked{i * 3 * kSecond / 10, 3 + i % 5, 2 + i % 7};
    once.push_back(asked);
    threefold.insert(threefold.end(), 3, asked);
  }
  const auto one = simulate(replica, workload_of(once), {});
  const auto three = simulate(cluster_of(replica, 3), workload_of(threefold), {});
  ASSERT_GT(one.use.preemptions, 0);
  for (std::size_t i = 0; i < three.requests.size(); ++i) {
    const RequestRecord& a = one.requests[i / 3];
    const RequestRecord& b = three.requests[i];
    ASSERT_EQ(b.replica, static_cast<std::int32_t>(i % 3));
    ASSERT_EQ(std::tuple(a.scheduled, a.first_token, a.finished, a.preemptions, a.largest_gap),
              std::tuple(b.scheduled, b.first_token, b.finished, b.preemptions, b.largest_gap));
  }
  EXPECT_EQ(three.use.steps, 3 * one.use.steps);
  EXPECT_EQ(three.use.peak_running, 3 * one.use.peak_running);
  EXPECT_EQ(three.use.peak_waiting, 3 * one.use.peak_waiting);
  EXPECT_EQ(three.replicas[2].use.peak_running, one.use.peak_running);
  EXPECT_NEAR(three.use.mean_running, 3 * one.use.mean_running, 1e-12);
  EXPECT_NEAR(three.use.mean_kv_use, one.use.mean_kv_use, 1e-12);
  EXPECT_NEAR(three.use.busy_share, one.use.busy_share, 1e-12);
  ASSERT_EQ(three.replicas.size(), 3u);
  EXPECT_EQ(three.replicas[1].completed, 40);
  EXPECT_EQ(three.replicas[1].use.steps, one.use.steps);
  EXPECT_EQ(three.replicas[1].paid, one.makespan);
}

TEST(Routing, PeaksAreOfAllReplicasAtOneTime) {
  // In turn: replica 0 runs two and replica 1 one until 1 s, then it is the other way round.
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  const auto result = simulate(
      cluster_of(replica, 2),
      workload_of(
          {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {kSecond, 1, 1}, {kSecond, 1, 1}, {kSecond, 1, 1}}),
      {});
  EXPECT_EQ(result.use.peak_running, 3);
  EXPECT_EQ(result.replicas[0].use.peak_running, 2);
  EXPECT_EQ(result.replicas[1].use.peak_running, 2);
}

TEST(Routing, SendsRequestsToThePoolWhoseRouteTakesThem) {
  // Prompts of up to 2 tokens go to replica 0 alone; longer ones take turns between 1 and 2,
  // whatever comes between them.
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  Cluster cluster;
  cluster.pools.push_back({.name = "short", .replica = replica});
  cluster.pools.push_back({.name = "long", .replica = replica, .replicas = 2});
  cluster.pools[0].route = PoolRoute{.max_input_tokens = 2};
  cluster.pools[1].route = PoolRoute{.min_input_tokens = 3};
  const auto result = simulate(
      cluster,
      workload_of({{0, 3, 1}, {0, 2, 1}, {0, 9, 1}, {0, 1, 1}, {0, 2, 1}, {0, 4, 1}, {0, 3, 1}}),
      {});
  EXPECT_THAT(replicas_of(result), ElementsAre(1, 0, 2, 0, 0, 1, 2));
}

TEST(Routing, RejectsWhatNoRouteTakes) {
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  Cluster cluster = cluster_of(replica, 1);
  cluster.pools.front().route = PoolRoute{.max_input_tokens = 2};
  const auto result = simulate(cluster, workload_of({{0, 2, 1}, {0, 3, 1}}), {});
  EXPECT_FALSE(result.requests[0].rejected);
  EXPECT_TRUE(result.requests[1].rejected);
  EXPECT_THAT(result.notes, ElementsAre("1 request rejected: no pool's route takes them"));
}

TEST(Routing, CountsRefusalsOfRoutedRequestsAlone) {
  // Pool short has room for 20 tokens and is sent prompts of up to 30: of these it refuses the 25,
  // which pool long could serve but is not sent. The 100 and 150 are long's and no refusals of
  // short's; 300 is too long for long. The 31 to 39 have no pool.
  const FakeStepTime step_time(Seconds{1});
  Engine small = plain_engine();
  small.max_model_len = 20;
  Engine large = plain_engine();
  large.max_model_len = 200;
  Cluster cluster;
  cluster.pools = {{.name = "short", .replica = roomy_replica(small, step_time)},
                   {.name = "long", .replica = roomy_replica(large, step_time)}};
  cluster.pools[0].route = PoolRoute{.max_input_tokens = 30};
  cluster.pools[1].route = PoolRoute{.min_input_tokens = 40};
  const auto result = simulate(
      cluster,
      workload_of(
          {{0, 5, 1}, {0, 25, 1}, {0, 100, 1}, {0, 150, 1}, {0, 300, 1}, {0, 31, 1}, {0, 39, 1}}),
      {});
  EXPECT_EQ(result.completed, 3);
  EXPECT_THAT(result.notes,
              ElementsAre("pool short cannot accept 1 request: longer than max_model_len 20 "
                          "(longest: 26 tokens, prompt and output)",
                          "pool long cannot accept 1 request: longer than max_model_len 200 "
                          "(longest: 301 tokens, prompt and output)",
                          "2 requests rejected: no pool's route takes them",
                          "2 requests rejected: no pool that they are routed to can serve them"));
}

TEST(Routing, SendsClassesWhereTheirRouteSays) {
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  Cluster cluster;
  cluster.pools.push_back({.name = "chat", .replica = replica});
  cluster.pools.push_back({.name = "others", .replica = replica});
  cluster.pools[0].route = PoolRoute{.classes = {"chat"}};
  cluster.pools[1].route = PoolRoute{.classes = {"batch", "code"}};
  Workload workload = workload_of({{0, 1, 1}, {0, 1, 1}, {0, 1, 1}});
  workload.class_names = {"batch", "chat", "code"};
  workload.requests[1].slo_class = 1;
  workload.requests[2].slo_class = 2;
  EXPECT_THAT(replicas_of(simulate(cluster, workload, {})), ElementsAre(1, 0, 1));
  cluster.pools[0].route = PoolRoute{.classes = {"chit-chat"}};
  EXPECT_THROW(simulate(cluster, workload, {}), Error);
}

TEST(Routing, LeastOutstandingFollowsWhatHasFinished) {
  // Steps of 1 s. A takes replica 0 until 5 s, B replica 1 until 1 s, so C at 2 s finds it free;
  // at 2 s both have one, so D goes to the first.
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  const auto result =
      simulate(cluster_of(replica, 2, RouterPolicy::least_outstanding),
               workload_of({{0, 1, 5}, {0, 1, 1}, {2 * kSecond, 1, 5}, {2 * kSecond, 1, 1}}), {});
  EXPECT_THAT(replicas_of(result), ElementsAre(0, 1, 1, 0));
}

TEST(Routing, ARequestSentWhenAnotherEndsSeesThatItHasEnded) {
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  const auto result = simulate(cluster_of(replica, 2, RouterPolicy::least_outstanding),
                               workload_of({{0, 1, 1}, {0, 1, 3}, {kSecond, 1, 1}}), {});
  EXPECT_THAT(replicas_of(result), ElementsAre(0, 1, 0));
}

TEST(Routing, PrefixAffinitySendsASessionBackToItsReplica) {
  // Turns of one conversation, 64 of whose 100 tokens are equal; least outstanding would have sent
  // the second turn to replica 0, the first of two idle ones.
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.prefix_caching = true;
  Workload workload = workload_of({{0, 100, 9}, {0, 100, 1}, {20 * kSecond, 100, 1}});
  workload.contents = {{.content = 1, .tokens = 64}};
  for (const std::size_t turn : {1u, 2u}) workload.requests[turn].contents_count = 1;
  const auto result = simulate(
      cluster_of(roomy_replica(engine, step_time), 2, RouterPolicy::prefix_affinity), workload, {});
  EXPECT_THAT(replicas_of(result), ElementsAre(0, 1, 1));
  EXPECT_EQ(result.requests[2].cached_tokens, 64);
}

TEST(Routing, APoolGetsOnlyWhatItCanServe) {
  // Pool small takes up to 20 tokens: the second request goes to large, the third is too long for
  // both.
  const FakeStepTime step_time(Seconds{1});
  Engine small = plain_engine();
  small.max_model_len = 20;
  Engine large = plain_engine();
  large.max_model_len = 200;
  Cluster cluster;
  cluster.pools = {{.name = "small", .replica = roomy_replica(small, step_time)},
                   {.name = "large", .replica = roomy_replica(large, step_time)}};
  const auto result =
      simulate(cluster, workload_of({{0, 5, 1}, {0, 100, 1}, {0, 300, 1}, {kSecond, 100, 1}}), {});
  EXPECT_EQ(result.requests[1].replica, 1);
  EXPECT_EQ(result.requests[3].replica, 1);
  EXPECT_EQ(result.rejected, 1);
  EXPECT_EQ(result.completed, 3);
  EXPECT_THAT(result.notes, testing::Contains("1 request rejected: no pool can serve them"));
  EXPECT_THAT(result.notes,
              testing::Contains("pool small cannot accept 3 requests: longer than max_model_len 20 "
                                "(longest: 301 tokens, prompt and output)"));
}

TEST(Routing, TheHostTimeOfThePoolComesBeforeItsQueue) {
  const FakeStepTime step_time(Seconds{1});
  Engine slow = plain_engine();
  slow.host.per_request = Seconds{2};
  Cluster cluster;
  cluster.pools = {{.name = "a", .replica = roomy_replica(plain_engine(), step_time)},
                   {.name = "b", .replica = roomy_replica(slow, step_time)}};
  const auto result = simulate(cluster, workload_of({{0, 1, 1}, {0, 1, 1}}), {});
  EXPECT_EQ(result.requests[0].queued, 0);
  EXPECT_EQ(result.requests[1].queued, 2 * kSecond);
}

TEST(Routing, TheClientsLimitIsOfAllReplicasTogether) {
  // Two at once, 3 s each: at 0, 0, 3, 3.
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  const auto result = simulate(cluster_of(replica, 4), batch_of({{1, 3}, {1, 3}, {1, 3}, {1, 3}}),
                               {.max_concurrency = 2});
  EXPECT_EQ(result.requests[1].sent, 0);
  EXPECT_EQ(result.requests[2].sent, 3 * kSecond);
  EXPECT_EQ(result.requests[3].finished, 6 * kSecond);
}

TEST(Routing, TheNextTurnComesAfterThePause) {
  // The first turn ends at 3 s, the second is created at 3 + 4 s and has its token 1 s later.
  const FakeStepTime step_time(Seconds{1});
  Workload workload = workload_of({{0, 1, 3}, {4 * kSecond, 1, 1}});
  workload.requests[1].follows = 0;
  const auto result =
      simulate(cluster_of(roomy_replica(plain_engine(), step_time), 2), workload, {});
  EXPECT_EQ(result.requests[1].request.arrival, 7 * kSecond);
  EXPECT_EQ(result.requests[1].sent, 7 * kSecond);
  EXPECT_EQ(result.requests[1].first_token, 8 * kSecond);
}

std::string refusal(const Cluster& cluster) {
  try {
    check_cluster(cluster);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Routing, AClusterThatCannotServeIsRefusedByName) {
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  EXPECT_THAT(refusal({}), HasSubstr("no pools"));
  Cluster cluster = cluster_of(replica, 0);
  EXPECT_THAT(refusal(cluster), HasSubstr("pool replicas: 0 replicas given"));
  cluster = cluster_of(replica, 1);
  cluster.pools[0].role = PoolRole::prefill;
  EXPECT_THAT(refusal(cluster), HasSubstr("require each other"));
  cluster.pools[0].replica.engine.scheduler = SchedulerKind::naive;
  EXPECT_THAT(refusal(cluster), HasSubstr("pool replicas: an engine without a KV cache"));
  cluster = cluster_of(replica, 2);
  cluster.failures = {{.replica = 2}};
  EXPECT_THAT(refusal(cluster), HasSubstr("replica 2 of pool replicas: expected 0 to 1"));
  cluster = cluster_of(replica, 2);
  cluster.pools[0].autoscaling = Autoscaling{.min_replicas = 3, .max_replicas = 4};
  EXPECT_THAT(refusal(cluster), HasSubstr("autoscaling.min_replicas"));
  cluster.pools[0].autoscaling = Autoscaling{.max_replicas = 4, .interval = 999'999};
  EXPECT_THAT(refusal(cluster), HasSubstr("interval: 0.000999999 s given, expected at least"));
  EXPECT_THAT(refusal(cluster_of(replica, 10'001)), HasSubstr("10001 replicas given"));
  cluster.pools[0].autoscaling = Autoscaling{.max_replicas = 5000};
  EXPECT_EQ(refusal(cluster), "none");
  cluster.pools[0].ranks = 3;
  EXPECT_THAT(refusal(cluster), HasSubstr("up to 5000 replicas of 3 data-parallel ranks"));
}

// On two replicas two front ends tokenise.
TEST(Routing, EachReplicaTokenisesItsOwnPrompts) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::sglang;
  engine.host.per_prompt_token = Seconds{0.1};
  const Cluster cluster = cluster_of(roomy_replica(engine, step_time), 2);
  const auto result = simulate(cluster, batch_of({{10, 1}, {10, 1}, {10, 1}}), {});
  std::vector<Nanoseconds> queued;
  for (const RequestRecord& record : result.requests) queued.push_back(record.queued);
  std::ranges::sort(queued);
  EXPECT_EQ(queued, (std::vector<Nanoseconds>{kSecond, kSecond, 2 * kSecond}));
}

}  // namespace
}  // namespace roofcast::test
