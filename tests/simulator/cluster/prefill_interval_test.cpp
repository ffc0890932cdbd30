// Prompts of data-parallel ranks in every N-th step: vLLM's prefill_schedule_interval, in
// schedules worked out by hand.
#include <gtest/gtest.h>

#include "tests/simulator/cluster/cluster_support.hpp"
#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

Engine with_interval(std::int64_t interval) {
  Engine engine = plain_engine();
  engine.max_num_seqs = 4;
  engine.prefill_schedule_interval = interval;
  return engine;
}

Cluster two_ranks(const Engine& engine) {
  Cluster cluster = cluster_of(roomy_replica(engine, second_a_token()), 1);
  cluster.pools[0].ranks = 2;
  cluster.pools[0].lockstep = true;
  cluster.pools[0].rank_router.policy = RouterPolicy::round_robin;
  return cluster;
}

/// A and B generate on either rank from 0 on, one token a second; the others come to A's and B's
/// rank in turn.
std::vector<Nanoseconds> first_tokens(const Engine& engine, const std::vector<Asked>& others) {
  std::vector<Asked> asked{{0, 1, 40}, {0, 1, 40}};
  asked.insert(asked.end(), others.begin(), others.end());
  const SimulationResult result = simulate(two_ranks(engine), workload_of(asked), {});
  std::vector<Nanoseconds> tokens;
  for (std::size_t i = 2; i < asked.size(); ++i) tokens.push_back(result.requests[i].first_token);
  return tokens;
}

using Times = std::vector<Nanoseconds>;

// Steps 0, 1, 2 ... begin at 0, 1, 2 s. C has 4 tokens and comes at 1.5 s: beside A's token its
// step takes 5 s.
TEST(PrefillInterval, APromptWaitsForAStepWhoseNumberTheIntervalDivides) {
  const std::vector<Asked> c{{3 * kHalfSecond, 4, 1}};
  EXPECT_EQ(first_tokens(with_interval(1), c), Times{7 * kSecond});  // step 2, 2 to 7 s
  EXPECT_EQ(first_tokens(with_interval(3), c), Times{8 * kSecond});  // step 3
  EXPECT_EQ(first_tokens(with_interval(8), c), Times{13 * kSecond});
}

// Step 2 is decided at 1 s, before C comes, and step 3 at 2 s.
TEST(PrefillInterval, StepsDecidedAheadKeepTheirNumbers) {
  Engine engine = with_interval(3);
  engine.async_scheduling = true;
  const std::vector<Asked> c{{3 * kHalfSecond, 4, 1}};
  EXPECT_EQ(first_tokens(engine, c), Times{8 * kSecond});
  engine.prefill_schedule_interval = 2;
  EXPECT_EQ(first_tokens(engine, c), Times{9 * kSecond});
}

// A step has room for A's token and C's prompt, not for E's, which waits behind it on the same rank
// (D, beside B, has two tokens: a single one would not wait). C runs in step 3, from 3 to 8 s. E
// was left waiting then, so that it need not wait for step 6: it runs in step 4, from 8 to 13 s.
TEST(PrefillInterval, AQueueLongerThanAStepIsNotHeldUp) {
  Engine engine = with_interval(3);
  engine.max_num_batched_tokens = 5;
  const Times times = first_tokens(
      engine, {{3 * kHalfSecond, 4, 1}, {3 * kHalfSecond, 2, 1}, {3 * kHalfSecond, 4, 1}});
  EXPECT_EQ(times, (Times{8 * kSecond, 8 * kSecond, 13 * kSecond}));
}

// C has 8 tokens, of which step 3 computes 4 (3 to 8 s). The rest waits for step 6, which begins
// two tokens of A later: 10 to 15 s.
TEST(PrefillInterval, TheRestOfAPromptWaitsToo) {
  Engine engine = with_interval(3);
  engine.max_num_batched_tokens = 5;
  EXPECT_EQ(first_tokens(engine, {{3 * kHalfSecond, 8, 1}}), Times{15 * kSecond});
}

// A and a third request run on one rank, from 0 to 2 s. B ends with its first token, so that its
// rank has nothing to decode: D, which comes to it at 1.5 s, starts in step 1, from 2 to 6 s.
TEST(PrefillInterval, ARankThatGeneratesNothingDoesNotWait) {
  const SimulationResult result =
      simulate(two_ranks(with_interval(8)),
               workload_of({{0, 1, 40}, {0, 1, 1}, {0, 1, 1}, {3 * kHalfSecond, 4, 1}}), {});
  EXPECT_EQ(result.requests[3].first_token, 6 * kSecond);
}

SimulationResult run(const EngineCase& c, std::int32_t ranks, EngineKind kind) {
  const FakeStepTime step_time(telling_time, c.spans);
  Cluster cluster = cluster_of({.engine = c.engine,
                                .layout = c.layout,
                                .kv_blocks = c.usable_blocks + 1,
                                .step_time = &step_time},
                               1);
  cluster.pools[0].ranks = ranks;
  cluster.pools[0].lockstep = true;
  return simulate(cluster, c.workload, {.max_concurrency = c.max_concurrency, .engine_kind = kind});
}

TEST(PrefillInterval, BothEnginesDoTheSame) {
  std::int64_t later = 0, completed = 0;
  for (std::uint64_t seed = 0; seed < trials(1000U); ++seed) {
    SCOPED_TRACE(seed);
    EngineCase c = random_engine_case(seed);
    if (c.engine.scheduler != SchedulerKind::vllm_v1) continue;
    RandomStream random = random_stream(seed, "interval");
    const auto ranks = static_cast<std::int32_t>(draw(random, 2, 3));
    const SimulationResult at_once = run(c, ranks, EngineKind::plain);
    c.engine.prefill_schedule_interval = draw(random, 2, 6);
    const SimulationResult plain = run(c, ranks, EngineKind::plain);
    const SimulationResult fast = run(c, ranks, EngineKind::fast);
    ASSERT_EQ(plain.unfinished, 0);
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_TRUE(life_of(fast.requests[i]) == life_of(plain.requests[i])) << "request " << i;
      later += plain.requests[i].scheduled > at_once.requests[i].scheduled ? 1 : 0;
    }
    ASSERT_EQ(fast.use.steps, plain.use.steps);
    completed += plain.completed;
  }
  EXPECT_GT(later, often(2000));  // prompts that waited for a step of theirs
  EXPECT_GT(completed, often(8000));
}

}  // namespace
}  // namespace roofcast::test
