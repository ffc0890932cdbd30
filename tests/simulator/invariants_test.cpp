// Random small workloads through random small engines: what must hold whatever happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>

#include "simulator/engine/admission.hpp"
#include "simulator/random.hpp"
#include "simulator/workload/client.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

std::int64_t draw(RandomStream& random, std::int64_t low, std::int64_t high) {
  return boost::random::uniform_int_distribution<std::int64_t>(low, high)(random);
}

struct Case {
  Engine engine;
  std::int64_t usable_blocks = 0;
  std::int64_t block_tokens = 0;
  std::optional<std::int64_t> max_concurrency;
  Workload workload;
};

Case random_case(std::uint64_t seed) {
  RandomStream random = random_stream(seed, "case");
  Case c;
  c.engine = plain_engine();
  c.engine.max_num_seqs = draw(random, 1, 8);
  c.engine.max_num_batched_tokens = c.engine.max_num_seqs + draw(random, 0, 60);
  c.engine.chunked_prefill = draw(random, 0, 4) > 0;
  c.engine.reserve_full_sequence = draw(random, 0, 1) == 1;
  c.engine.long_prefill_token_threshold = draw(random, 0, 3) == 0 ? draw(random, 1, 20) : 0;
  c.engine.watermark = draw(random, 0, 3) == 0 ? 0.1 : 0.0;
  c.engine.order = draw(random, 0, 2) == 0 ? QueueOrder::priority : QueueOrder::fcfs;
  c.engine.max_model_len = draw(random, 0, 1) == 1 ? 80 : 0;
  c.engine.host.per_request = Seconds{draw(random, 0, 1) == 1 ? 0.3 : 0.0};
  c.block_tokens = draw(random, 1, 16);
  c.usable_blocks = draw(random, 4, 40);
  if (draw(random, 0, 2) == 0) c.max_concurrency = draw(random, 1, 6);
  const std::int64_t requests = draw(random, 1, 40);
  Nanoseconds arrival = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    arrival += draw(random, 0, 3) * kSecond / 2;
    c.workload.requests.push_back({.arrival = arrival,
                                   .input_tokens = draw(random, 1, 60),
                                   .output_tokens = draw(random, 1, 30),
                                   .slo_class = 0,
                                   .priority = draw(random, 0, 2)});
  }
  return c;
}

/// After every scheduling decision: blocks add up, limits hold, every request is in one place.
void check_step(const PlainEngine& engine) {
  const EngineState& state = engine.state();
  std::vector<RequestId> inside = state.running;
  for (WaitingQueue waiting = state.waiting; !waiting.empty(); waiting.pop_front()) {
    inside.push_back(waiting.front());
  }
  std::sort(inside.begin(), inside.end());
  ASSERT_EQ(std::adjacent_find(inside.begin(), inside.end()), inside.end());
  std::int64_t held = 0;
  for (RequestId id : inside) held += state[id].kv.blocks;
  ASSERT_EQ(held, state.blocks.used());
  ASSERT_EQ(state.blocks.used() + state.blocks.free(), state.blocks.usable());
  ASSERT_GE(state.blocks.free(), 0);
  ASSERT_LE(state.running.size(), static_cast<std::size_t>(state.engine.max_num_seqs));
  std::int64_t tokens = 0;
  std::vector<RequestId> scheduled;
  for (const ScheduledTokens& s : engine.plan().scheduled) {
    ASSERT_GT(s.tokens, 0);
    tokens += s.tokens;
    scheduled.push_back(s.request);
    const RequestState& request = state[s.request];
    ASSERT_LE(request.computed, request.tokens());
    ASSERT_EQ(request.kv.blocks, state.blocks.needed(request.computed, s.tokens));
  }
  ASSERT_LE(tokens, state.engine.max_num_batched_tokens);
  std::sort(scheduled.begin(), scheduled.end());
  ASSERT_EQ(std::adjacent_find(scheduled.begin(), scheduled.end()), scheduled.end());
}

/// The loop of simulate(), stopping at every step to look.
void run_checked(const Case& c, const Replica& replica) {
  std::vector<RequestRecord> records = records_of(c.workload);
  reject_impossible(records, replica);
  TokenGaps gaps(1);
  RequestTable table(records);
  PlainEngine engine(replica, table, gaps);
  Client client(records, c.max_concurrency, to_nanoseconds(c.engine.host.per_request));
  Nanoseconds now = 0;
  while (true) {
    client.send_until(now);
    while (const auto id = client.take_delivered(now)) {
      table.enter(*id);
      engine.enqueue(*id);
    }
    const auto end = engine.start_step(now);
    if (end) {
      ASSERT_NO_FATAL_FAILURE(check_step(engine));
    }
    if (!end) {
      const auto next = client.next_delivery();
      if (!next) break;
      now = std::max(now, *next);
      continue;
    }
    client.send_until(*end);
    client.release(std::ssize(engine.finish_step()), *end);
    now = *end;
  }
  ASSERT_TRUE(engine.state().running.empty());
  ASSERT_TRUE(engine.state().waiting.empty());
  ASSERT_EQ(engine.state().blocks.used(), 0);
}

void check_result(const Case& c, const SimulationResult& result) {
  ASSERT_EQ(result.unfinished, 0);
  ASSERT_EQ(result.completed + result.rejected, std::ssize(c.workload.requests));
  std::int64_t needed = 0;
  for (const RequestRecord& r : result.requests) {
    ASSERT_GE(r.sent, r.request.arrival);
    if (r.rejected) {
      ASSERT_EQ(r.finished, kNever);
      continue;
    }
    ASSERT_GE(r.queued, r.sent);
    ASSERT_GE(r.scheduled, r.queued);
    ASSERT_GT(r.first_token, r.scheduled);
    // A step of a second for every further token at least.
    ASSERT_GE(r.finished, r.first_token + (r.request.output_tokens - 1) * kSecond);
    needed += r.request.input_tokens + r.request.output_tokens - 1;
  }
  // Every token but a request's last is computed once, and again as often as it was lost.
  ASSERT_EQ(result.use.prefill_tokens + result.use.decode_tokens,
            needed + result.use.recomputed_tokens);
  ASSERT_GE(result.queue.min, 0);
  ASSERT_LE(result.use.peak_kv_use, 1);
  ASSERT_LE(result.use.mean_kv_use, result.use.peak_kv_use + 1e-12);
}

TEST(Invariants, HoldOnRandomSmallWorkloads) {
  const FakeStepTime step_time(Seconds{1});
  std::int64_t preemptions = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed);
    const Replica replica = replica_of(c.engine, step_time, c.usable_blocks, c.block_tokens);
    ASSERT_NO_FATAL_FAILURE(run_checked(c, replica));
    const auto result = simulate(replica, c.workload, {.max_concurrency = c.max_concurrency});
    ASSERT_NO_FATAL_FAILURE(check_result(c, result));
    preemptions += result.use.preemptions;
    rejected += result.rejected;
  }
  // The cases reach what they are meant to reach.
  EXPECT_GT(preemptions, 1000);
  EXPECT_GT(rejected, 1000);
}

}  // namespace
}  // namespace roofcast::test
