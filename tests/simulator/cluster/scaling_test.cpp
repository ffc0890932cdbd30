// Autoscaling over whole runs.
#include <gmock/gmock.h>

#include "tests/simulator/cluster/cluster_support.hpp"

namespace roofcast::test {
namespace {

/// One request at a time in steps of 1 s; one replica per two waiting requests, evaluated every 10
/// s, 5 s to start, 20 s of scale-down stabilisation.
Cluster scaled() {
  static const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.max_num_seqs = 1;
  Cluster cluster =
      cluster_of(roomy_replica(engine, step_time), 1, RouterPolicy::least_outstanding);
  cluster.pools[0].autoscaling = Autoscaling{.min_replicas = 1,
                                             .max_replicas = 3,
                                             .target = 2,
                                             .interval = 10 * kSecond,
                                             .start_up = 5 * kSecond,
                                             .scale_down_window = 20 * kSecond};
  return cluster;
}

TEST(Scaling, ReplicasComeWithTheQueueAndGoWhenTheWindowAllows) {
  // Six requests of 10 s at once, which replica 0 takes one after another until 60 s.
  // 10 s: one done, 5 wait: 3 replicas, from 15 s on. The two that come at 16 s go there.
  // 20 s: 4 wait: 2, but 3 were wanted within the window. 30 s: 3 wait: 2, replica 2 is idle and
  // goes. 40 s: 2 wait: 1, but 2 within the window. 50 s: 1 waits: 1, replica 1 goes.
  std::vector<Asked> asked(6, {0, 1, 10});
  asked.insert(asked.end(), 2, {16 * kSecond, 1, 5});
  const auto result = simulate(scaled(), workload_of(asked), {});
  EXPECT_EQ(result.requests[6].replica, 1);
  EXPECT_EQ(result.requests[7].replica, 2);
  EXPECT_EQ(result.requests[7].finished, 21 * kSecond);
  EXPECT_EQ(result.requests[5].finished, 60 * kSecond);
  ASSERT_EQ(result.replicas.size(), 3u);
  EXPECT_EQ(result.replicas[0].paid, Seconds{60});
  EXPECT_EQ(result.replicas[1].paid, Seconds{50 - 10});
  EXPECT_EQ(result.replicas[2].paid, Seconds{30 - 10});
  // Busy: 60 + 5 + 5 s of 60 + 40 + 20 s.
  EXPECT_NEAR(result.use.busy_share, 70.0 / 120.0, 1e-12);
}

TEST(Scaling, ADrainingReplicaFinishesWhatItHas) {
  // As above, but the requests of 16 s take until 46 s on replica 2 that is to go at 30 s.
  std::vector<Asked> asked(6, {0, 1, 10});
  asked.insert(asked.end(), 2, {16 * kSecond, 1, 30});
  const auto result = simulate(scaled(), workload_of(asked), {});
  EXPECT_EQ(result.requests[7].replica, 2);
  EXPECT_EQ(result.requests[7].finished, 46 * kSecond);
  EXPECT_EQ(result.replicas[2].paid, Seconds{46 - 10});
}

TEST(Scaling, AStartingReplicaIsLetGoWhenNobodyNeedsItAnyMore) {
  // Five requests of 4 s. 10 s: two wait, 2 replicas, the second there at 40 s. 20 s: all are done,
  // it goes; a request of 50 s finds replica 0 alone.
  Cluster cluster = scaled();
  Autoscaling& scaling = *cluster.pools[0].autoscaling;
  scaling.target = 1;
  scaling.start_up = 30 * kSecond;
  scaling.scale_down_window = 0;
  std::vector<Asked> asked(5, {0, 1, 4});
  asked.push_back({50 * kSecond, 1, 1});
  const auto result = simulate(cluster, workload_of(asked), {});
  EXPECT_EQ(result.completed, 6);
  EXPECT_EQ(result.requests[5].finished, 51 * kSecond);
  ASSERT_EQ(result.replicas.size(), 2u);
  EXPECT_EQ(result.replicas[1].paid, Seconds{10});
  EXPECT_EQ(result.replicas[1].served, 0);
}

TEST(Scaling, APrefillReplicaStaysUntilWhatItSendsHasArrived) {
  // Both prompts are computed at 1 s and take 10 s of the links. 2 s: no request waits, prefill
  // replica 1 is to go, and does at 11 s; the decode replica computes the prompts' last tokens
  // again and has the first tokens at 12 s, the second at 13 s.
  static const FakeStepTime step_time(Seconds{1});
  const Replica replica = replica_of(plain_engine(), step_time, 1000, 1);
  Cluster cluster;
  cluster.pools = {{.name = "p", .role = PoolRole::prefill, .replica = replica, .replicas = 2},
                   {.name = "d", .role = PoolRole::decode, .replica = replica}};
  cluster.pools[0].autoscaling =
      Autoscaling{.max_replicas = 2, .interval = 2 * kSecond, .scale_down_window = 0};
  cluster.link.bandwidth = BytesPerSecond{1};
  const auto result = simulate(cluster, batch_of({{10, 2}, {10, 2}}), {});
  EXPECT_EQ(result.requests[1].finished, 13 * kSecond);
  EXPECT_EQ(result.replicas[1].paid, Seconds{11});
  EXPECT_EQ(result.replicas[1].served, 1);     // a prompt
  EXPECT_EQ(result.replicas[1].completed, 0);  // but no request
  EXPECT_EQ(result.replicas[2].completed, 2);
  EXPECT_EQ(result.replicas[2].use.prefill_tokens, 2);
}

TEST(Scaling, OneReplicaThatMayScaleIsShown) {
  const auto result = simulate(scaled(), batch_of({{1, 5}}), {});
  ASSERT_EQ(result.replicas.size(), 1u);
  EXPECT_EQ(result.replicas[0].paid, Seconds{5});
}

TEST(Scaling, ALostReplicaIsReplacedAtTheNextDecision) {
  // Lost at 3 s, ordered at 10 s, there at 15 s: a request of 5 s ends at 20 s.
  Cluster cluster = scaled();
  cluster.failures = {{.time = 3 * kSecond}};
  const auto result = simulate(cluster, batch_of({{1, 5}}), {});
  EXPECT_EQ(result.requests[0].finished, 20 * kSecond);
}

TEST(Scaling, ARunInWhichOnlyTheAutoscalerWorksCanBeStopped) {
  // Nothing arrives for 100 s, in which 100,000 decisions are taken.
  Cluster cluster = scaled();
  cluster.pools[0].autoscaling->interval = kMillisecond;
  const auto result =
      simulate(cluster, workload_of({{0, 1, 1}, {100 * kSecond, 1, 1}}),
               {.progress = [](std::int64_t done, std::int64_t) { return done == 0; }});
  EXPECT_EQ(result.completed, 1);
  EXPECT_EQ(result.unfinished, 1);
}

TEST(Scaling, UtilisationIsTheLargerOfPlacesAndBlocks) {
  // The single place is taken, so 1 / 0.5 = 2 replicas are wanted at 10 s.
  Cluster cluster = scaled();
  cluster.pools[0].autoscaling->metric = Autoscaling::Metric::utilisation;
  cluster.pools[0].autoscaling->target = 0.5;
  const auto result = simulate(cluster, batch_of({{1, 20}}), {});
  EXPECT_EQ(result.replicas.size(), 2u);
}

}  // namespace
}  // namespace roofcast::test
