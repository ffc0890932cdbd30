// The fast engine compared with the plain one: same timeline of every request, on any workload.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

auto use_of(const EngineUse& use) {
  return std::tuple(use.steps, use.prefill_tokens, use.recomputed_tokens, use.decode_tokens,
                    use.preemptions, use.prefix_queries, use.prefix_hits, use.mean_kv_use,
                    use.peak_kv_use, use.mean_kv_empty, use.peak_kv_empty, use.mean_kv_unused,
                    use.mean_kv_stranded, use.mean_running, use.peak_running, use.mean_waiting,
                    use.peak_waiting, use.busy_share);
}

auto spread_of(const Distribution& d) {
  return std::tuple(d.count, d.mean, d.p50, d.p90, d.p99, d.max);
}

TEST(FastEngine, GivesEveryRequestTheLifeThatThePlainEngineGivesIt) {
  std::int64_t preemptions = 0, hits = 0, completed = 0;
  for (std::uint64_t seed = 0; seed < trials(3000U); ++seed) {
    SCOPED_TRACE(seed);
    const EngineCase c = random_engine_case(seed);
    const SimulationResult plain = run(c, EngineKind::plain);
    const SimulationResult fast = run(c, EngineKind::fast);
    ASSERT_EQ(fast.requests.size(), plain.requests.size());
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_TRUE(life_of(fast.requests[i]) == life_of(plain.requests[i])) << "request " << i;
    }
    ASSERT_TRUE(use_of(fast.use) == use_of(plain.use));
    ASSERT_TRUE(spread_of(fast.itl) == spread_of(plain.itl));
    preemptions += plain.use.preemptions;
    hits += plain.use.prefix_hits;
    completed += plain.completed;
  }
  // The cases reach what they are meant to reach.
  EXPECT_GT(preemptions, often(5000));
  EXPECT_GT(hits, often(50'000));
  EXPECT_GT(completed, often(25'000));
}

// TensorRT-LLM takes the blocks of a whole prompt when it starts. Pairs of 264 and 248 to 263
// tokens do not fit 13 blocks of 32 together: the later one is paused and computed again in chunks
// of at most 192 tokens, of which in one pair the last is a single token, so that the request
// decodes from there with a block that it holds already. Were that block taken again, nothing would
// give it back, and the last request, which needs all 13 (416 tokens), could never be served.
TEST(FastEngine, AResumedPromptDoesNotTakeABlockThatItHolds) {
  EngineCase c;
  c.engine = plain_engine();
  c.engine.scheduler = SchedulerKind::tensorrt_llm;
  c.engine.capacity_scheduler_policy = CapacityPolicy::max_utilization;
  c.engine.max_num_seqs = 64;
  c.engine.max_num_batched_tokens = 192;
  c.engine.async_scheduling = true;
  c.layout = uniform_layout(32);
  c.usable_blocks = 13;
  c.spans = {AttentionSpan{}};
  Nanoseconds arrival = 0;
  for (std::int64_t output = 184; output < 200; ++output) {
    for (const std::int64_t tokens : {output, std::int64_t{200}}) {
      c.workload.requests.push_back(
          {.arrival = arrival, .input_tokens = 64, .output_tokens = tokens});
    }
    arrival += 10'000 * kSecond;
  }
  c.workload.requests.push_back({.arrival = arrival, .input_tokens = 300, .output_tokens = 116});
  const SimulationResult fast = run(c, EngineKind::fast);
  EXPECT_EQ(fast.completed, std::ssize(c.workload.requests));
  EXPECT_GE(fast.use.preemptions, 16);
}

}  // namespace
}  // namespace roofcast::test
