// Replicas that fail during a run. Steps of 1 s.
#include <gmock/gmock.h>

#include "tests/simulator/cluster/cluster_support.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Replica one_second_replica(const Engine& engine = plain_engine()) {
  static const FakeStepTime step_time(Seconds{1});
  return roomy_replica(engine, step_time);
}

/// Replica 0 of `replicas` fails at 2.5 s.
Cluster failing(std::int32_t replicas, const Failure& failure) {
  Cluster cluster = cluster_of(one_second_replica(), replicas);
  cluster.failures = {failure};
  cluster.failures[0].time = 2 * kSecond + kHalfSecond;
  return cluster;
}

TEST(Failure, RetriedRequestsStartAnewElsewhereAndCountFromTheirFirstSending) {
  // A has two tokens when replica 0 is lost. Replica 1 sees it when its step ends at 3 s: prompt
  // until 4 s, the other four tokens until 8 s.
  const auto result = simulate(failing(2, {}), batch_of({{1, 5}, {1, 10}}), {});
  const RequestRecord& record = result.requests[0];
  EXPECT_EQ(record.sent, 0);
  EXPECT_EQ(record.queued, 0);
  EXPECT_EQ(record.scheduled, 3 * kSecond);
  EXPECT_EQ(record.first_token, 4 * kSecond);
  EXPECT_EQ(record.finished, 8 * kSecond);
  EXPECT_EQ(record.replica, 1);
  EXPECT_EQ(result.requests[1].finished, 10 * kSecond);
  EXPECT_DOUBLE_EQ(result.ttft.max, 4);
  EXPECT_DOUBLE_EQ(result.queue.max, 3);  // the lost attempt included
  EXPECT_THAT(result.notes, Contains(HasSubstr("1 request sent again")));
  EXPECT_EQ(result.replicas[0].paid, Seconds{2.5});
  EXPECT_EQ(result.replicas[1].paid, Seconds{10});
}

TEST(Failure, GapsOfALostAttemptCountForNothing) {
  // A has two tokens, a gap of 1 s apart, when replica 0 is lost; B has 9 gaps, and A, when it is
  // sent again, 4.
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const Workload workload = batch_of({{1, 5}, {1, 10}});
    EXPECT_EQ(simulate(failing(2, {}), workload, {.engine_kind = kind}).itl.count, 13);
    const auto lost = simulate(failing(2, {.retried = false}), workload, {.engine_kind = kind});
    EXPECT_EQ(lost.itl.count, 9);
  }
}

TEST(Failure, LostRequestsFreeTheirPlaceAndTakeTheirFollowersWithThem) {
  // One at a time: B is sent when A is lost, to replica 1, the only one left. C would have followed
  // A.
  Workload workload = workload_of({{0, 1, 5}, {0, 1, 1}, {kSecond, 1, 1}});
  workload.requests[2].follows = 0;
  const auto result = simulate(failing(2, {.retried = false}), workload, {.max_concurrency = 1});
  EXPECT_TRUE(result.requests[0].lost);
  EXPECT_EQ(result.requests[1].sent, 2 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[1].finished, 3 * kSecond + kHalfSecond);
  EXPECT_TRUE(result.requests[2].rejected);
  EXPECT_EQ(result.lost, 1);
  EXPECT_EQ(result.rejected, 1);
  EXPECT_EQ(result.unfinished, 0);
}

TEST(Failure, ARequestWaitsForTheReplicaToComeBack) {
  // Back at 12.5 s; five steps.
  const auto result = simulate(failing(1, {.back_after = 10 * kSecond}), batch_of({{1, 5}}), {});
  EXPECT_EQ(result.requests[0].first_token, 13 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[0].finished, 17 * kSecond + kHalfSecond);
}

TEST(Failure, WaitingForAReplicaAtTheRouterIsWaitingInTheQueue) {
  // A is sent again at 2.5 s and B comes at 5 s; both are taken at 12.5 s. A's queueing counts from
  // its first sending, the level at the router from when it waits there.
  const auto result = simulate(failing(1, {.back_after = 10 * kSecond}),
                               workload_of({{0, 1, 5}, {5 * kSecond, 1, 1}}), {});
  EXPECT_EQ(result.requests[1].queued, 5 * kSecond);
  EXPECT_DOUBLE_EQ(result.queue.mean, (12.5 + 7.5) / 2);
  EXPECT_DOUBLE_EQ(result.ttft.mean, (13.5 + 8.5) / 2);
  EXPECT_DOUBLE_EQ(result.use.mean_waiting, (10 + 7.5) / 17.5);
  EXPECT_EQ(result.use.peak_waiting, 2);
  ASSERT_EQ(result.replicas.size(), 1u);
  EXPECT_EQ(result.replicas[0].use.peak_waiting, 0);
}

TEST(Failure, AReplicaThatIsBackGoesOnCounting) {
  // Steps from 0, 1 and 2 s, the last cut short at 2.5 s; then five from 3.5 to 8.5 s. Paid for all
  // the time, busy all but the second that it takes to be back.
  const auto result = simulate(failing(1, {.back_after = kSecond}), batch_of({{3, 5}}), {});
  ASSERT_EQ(result.replicas.size(), 1u);
  const ReplicaResult& replica = result.replicas[0];
  EXPECT_EQ(replica.paid, Seconds{8.5});
  EXPECT_EQ(replica.use.steps, 3 + 5);
  EXPECT_EQ(replica.use.prefill_tokens, 3 + 3);
  EXPECT_EQ(replica.use.decode_tokens, 2 + 4);
  EXPECT_DOUBLE_EQ(replica.use.busy_share, 7.5 / 8.5);
  EXPECT_EQ(result.use.steps, 3 + 5);
}

TEST(Failure, OneThatHitsNothingIsSaidToHaveDoneSo) {
  // The second finds replica 0 off, the third comes when the run is over.
  Cluster cluster = failing(2, {});
  cluster.failures.push_back({.time = 3 * kSecond});
  cluster.failures.push_back({.time = 300 * kSecond, .replica = 1});
  const auto result = simulate(cluster, batch_of({{1, 5}, {1, 10}}), {});
  EXPECT_THAT(result.notes, Contains(HasSubstr("2 failures hit no replica")));
  EXPECT_THAT(simulate(failing(2, {}), batch_of({{1, 5}, {1, 10}}), {}).notes,
              Not(Contains(HasSubstr("hit no replica"))));
}

TEST(Failure, WithNobodyLeftAndNobodyToComeRequestsAreLost) {
  const auto result = simulate(failing(1, {}), workload_of({{0, 1, 5}, {20 * kSecond, 1, 1}}), {});
  EXPECT_EQ(result.lost, 2);
  EXPECT_EQ(result.unfinished, 0);
  // The second never had a replica.
  EXPECT_EQ(result.requests[0].replica, 0);
  EXPECT_EQ(result.requests[1].replica, -1);
  ASSERT_EQ(result.replicas.size(), 1u);
  EXPECT_EQ(result.replicas[0].lost, 1);
}

TEST(Failure, ARequestOnItsWayToALostReplicaIsSentAgainAtOnce) {
  // Sent at 2 s to replica 0, which has lost it at 2.5 s: at replica 1 at 3.5 s. What it waits
  // counts from the failure on.
  Engine engine = plain_engine();
  engine.host.per_request = Seconds{1};
  Cluster cluster = failing(2, {});
  cluster.pools[0].replica = one_second_replica(engine);
  const auto result = simulate(cluster, workload_of({{2 * kSecond, 1, 1}}), {});
  EXPECT_EQ(result.requests[0].queued, 2 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[0].scheduled, 3 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[0].finished, 4 * kSecond + kHalfSecond);
}

/// Replicas that tokenise in turn, in 0.2 s a token.
Cluster tokenising(std::int32_t replicas, const Failure& failure) {
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::sglang;
  engine.host.per_prompt_token = Seconds{0.2};
  Cluster cluster = failing(replicas, failure);
  cluster.pools[0].replica = one_second_replica(engine);
  return cluster;
}

TEST(Failure, TakesThePromptsThatAreBeingTokenised) {
  // Two at a time, 4 s each: A would be tokenised at 4 s, B at 8 s. Both are lost at 2.5 s, when C
  // is sent. It waits until the replica is back at 3.5 s, whose front end has nothing else to do.
  const auto result = simulate(tokenising(1, {.retried = false, .back_after = kSecond}),
                               batch_of({{20, 1}, {20, 1}, {20, 1}}), {.max_concurrency = 2});
  EXPECT_TRUE(result.requests[0].lost);
  EXPECT_TRUE(result.requests[1].lost);
  EXPECT_EQ(result.lost, 2);
  EXPECT_EQ(result.requests[2].sent, 2 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[2].scheduled, 7 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[2].finished, 8 * kSecond + kHalfSecond);
}

TEST(Failure, PromptsThatWereBeingTokenisedAreTokenisedAgainElsewhere) {
  // A and C are at replica 0, tokenised at 4 and 8 s; B is at replica 1, tokenised at 2 s. From
  // 2.5 s on replica 1 tokenises A until 6.5 s, then C until 10.5 s.
  const auto result = simulate(tokenising(2, {}), batch_of({{20, 1}, {10, 1}, {20, 1}}), {});
  EXPECT_EQ(result.requests[1].scheduled, 2 * kSecond);
  EXPECT_EQ(result.requests[0].scheduled, 6 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[2].scheduled, 10 * kSecond + kHalfSecond);
  // C waited for A until both were lost; from then on waiting counts as queueing.
  EXPECT_EQ(result.requests[2].tokenizer_wait, 2 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[2].queued, 2 * kSecond + kHalfSecond);
  EXPECT_EQ(result.requests[0].tokenizer_wait, 0);
  EXPECT_EQ(result.replicas[1].served, 3);
}

TEST(Failure, KAndVOnTheirWayAreLostWithTheReplicaThatSendsThem) {
  // The prompt is done at 1 s and would be at the decode replica at 11 s. Prefill is back at 3.5 s,
  // but what it had is not: known at 11 s, computed again until 12 s, there at 22 s, tokens at 23
  // and 24 s.
  static const FakeStepTime step_time(Seconds{1});
  const Replica replica = replica_of(plain_engine(), step_time, 1000, 1);
  Cluster cluster;
  cluster.pools = {{.name = "p", .role = PoolRole::prefill, .replica = replica},
                   {.name = "d", .role = PoolRole::decode, .replica = replica}};
  cluster.link.bandwidth = BytesPerSecond{1};
  cluster.failures = {{.time = 2 * kSecond + kHalfSecond, .back_after = kSecond}};
  const auto result = simulate(cluster, batch_of({{10, 2}}), {});
  EXPECT_EQ(result.requests[0].first_token, 23 * kSecond);
  EXPECT_EQ(result.requests[0].finished, 24 * kSecond);
}

}  // namespace
}  // namespace roofcast::test
