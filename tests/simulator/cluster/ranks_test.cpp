// Data-parallel ranks within a replica.
#include <gmock/gmock.h>

#include "tests/simulator/cluster/cluster_support.hpp"

namespace roofcast::test {
namespace {

Cluster two_ranks(bool lockstep) {
  Cluster cluster = cluster_of(roomy_replica(plain_engine(), second_a_token()), 1);
  cluster.pools[0].ranks = 2;
  cluster.pools[0].lockstep = lockstep;
  return cluster;
}

TEST(Ranks, StepByThemselvesWhenTheyShareNothing) {
  // A: 4 s for its prompt, 1 s for its second token. B, on the other rank: 1 s and 1 s.
  const auto result = simulate(two_ranks(false), batch_of({{4, 2}, {1, 2}}), {});
  EXPECT_EQ(result.requests[0].finished, 5 * kSecond);
  EXPECT_EQ(result.requests[1].finished, 2 * kSecond);
}

TEST(Ranks, WaitForTheSlowestInLockstep) {
  // First step 4 s, that of A's prompt, second step 1 s; B has its tokens when A has.
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const auto result =
        simulate(two_ranks(true), batch_of({{4, 2}, {1, 2}}), {.engine_kind = kind});
    EXPECT_EQ(result.requests[0].finished, 5 * kSecond);
    EXPECT_EQ(result.requests[1].first_token, 4 * kSecond);
    EXPECT_EQ(result.requests[1].finished, 5 * kSecond);
    EXPECT_EQ(result.requests[1].largest_gap, 1 * kSecond);
    // Two engines for 5 s each, waiting included.
    EXPECT_DOUBLE_EQ(result.use.busy_share, 1);
    EXPECT_DOUBLE_EQ(result.use.mean_running, 2);
    EXPECT_EQ(result.use.peak_running, 2);
  }
}

TEST(Ranks, AnIdleRankJoinsAtTheNextStepInLockstep) {
  // B comes at 1 s to the idle rank and starts with A's second step, at 4 s.
  const Workload workload = workload_of({{0, 4, 2}, {kSecond, 1, 1}});
  EXPECT_EQ(simulate(two_ranks(true), workload, {}).requests[1].scheduled, 4 * kSecond);
  EXPECT_EQ(simulate(two_ranks(false), workload, {}).requests[1].scheduled, 1 * kSecond);
}

TEST(Ranks, TheirRouterCountsAWaitingRequestFourTimes) {
  // All at once: none runs yet, so they alternate, and each rank computes two prompts of 3 tokens.
  const auto result = simulate(two_ranks(false), batch_of({{3, 1}, {3, 1}, {3, 1}, {3, 1}}), {});
  for (const RequestRecord& record : result.requests) EXPECT_EQ(record.finished, 6 * kSecond);
}

}  // namespace
}  // namespace roofcast::test
