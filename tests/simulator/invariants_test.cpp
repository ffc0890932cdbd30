// Random small workloads through random small engines: invariants that must always hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "simulator/cluster/client.hpp"
#include "simulator/engine/admission.hpp"
#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

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
  if (draw(random, 0, 4) > 0) return c;
  c.engine.kv_reservation = c.engine.max_model_len > 0 ? KvReservation::max : KvReservation::pow2;
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
  std::int64_t computed = 0;
  for (RequestId id : state.running) computed += state[id].computed;
  const auto block = static_cast<double>(state.blocks.layout().block_tokens);
  const double empty = static_cast<double>(held) - static_cast<double>(computed) / block;
  ASSERT_NEAR(engine.counters().empty, empty, 1e-9);
  ASSERT_GE(empty, -1e-9);
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
    if (!state.blocks.contiguous()) {
      ASSERT_EQ(request.kv.blocks, state.blocks.needed(request.computed, s.tokens));
    }
  }
  ASSERT_LE(tokens, state.engine.max_num_batched_tokens);
  std::sort(scheduled.begin(), scheduled.end());
  ASSERT_EQ(std::adjacent_find(scheduled.begin(), scheduled.end()), scheduled.end());
}

/// Client and one engine in a simple loop, without an event queue.
class Loop {
 public:
  Loop(const Case& c, const Replica& replica)
      : records_(records_of(c.workload)),
        table_(records_),
        gaps_(1),
        engine_(replica, table_, gaps_),
        client_(records_, c.max_concurrency),
        per_request_(to_nanoseconds(c.engine.host.per_request)) {
    reject_impossible(records_, replica);
    for (RequestRecord& record : records_) record.sent = record.queued = kNever;
  }

  /// Stops at every step to look.
  void run() {
    Nanoseconds now = 0;
    while (true) {
      send_until(now);
      deliver_until(now);
      const auto end = engine_.start_step(now);
      if (!end) {
        if (on_the_way_.empty() && !client_.next_send()) break;
        now = on_the_way_.empty() ? *client_.next_send() : on_the_way_.front().first;
        continue;
      }
      ASSERT_NO_FATAL_FAILURE(check_step(engine_));
      send_until(*end);
      for (const RequestId id : engine_.finish_step()) client_.finished(id, *end);
      now = place_free_since_ = *end;
    }
    ASSERT_TRUE(engine_.state().running.empty());
    ASSERT_TRUE(engine_.state().waiting.empty());
    ASSERT_EQ(engine_.state().blocks.used(), 0);
  }

  const std::vector<RequestRecord>& records() const { return records_; }

 private:
  void send_until(Nanoseconds now) {
    for (auto next = client_.next_send(); next && *next <= now; next = client_.next_send()) {
      const Nanoseconds sent = std::max(*next, place_free_since_);
      if (const auto id = client_.send(sent)) on_the_way_.emplace_back(sent + per_request_, *id);
    }
  }

  void deliver_until(Nanoseconds now) {
    for (; !on_the_way_.empty() && on_the_way_.front().first <= now; on_the_way_.pop_front()) {
      const auto [time, id] = on_the_way_.front();
      table_.record(id).queued = time;
      table_.enter(id);
      engine_.enqueue(id);
    }
  }

  std::vector<RequestRecord> records_;
  RequestTable table_;
  TokenGaps gaps_;
  PlainEngine engine_;
  Client client_;
  Nanoseconds per_request_ = 0;
  Nanoseconds place_free_since_ = 0;
  std::deque<std::pair<Nanoseconds, RequestId>> on_the_way_;
};

/// The event queue must produce the same times.
void expect_same_times(const std::vector<RequestRecord>& a, const std::vector<RequestRecord>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(a[i].rejected, b[i].rejected);
    ASSERT_EQ(a[i].sent, b[i].sent);
    ASSERT_EQ(a[i].queued, b[i].queued);
    ASSERT_EQ(a[i].scheduled, b[i].scheduled);
    ASSERT_EQ(a[i].first_token, b[i].first_token);
    ASSERT_EQ(a[i].finished, b[i].finished);
    ASSERT_EQ(a[i].largest_gap, b[i].largest_gap);
    ASSERT_EQ(a[i].preemptions, b[i].preemptions);
  }
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
  ASSERT_LE(result.use.mean_kv_empty, result.use.peak_kv_empty + 1e-12);
  ASSERT_LE(result.use.mean_kv_empty, result.use.mean_kv_use + 1e-12);
  ASSERT_LE(result.use.mean_kv_unused, result.use.mean_kv_empty + 1e-12);
  ASSERT_LE(result.use.mean_kv_stranded + result.use.mean_kv_use, 1 + 1e-12);
}

TEST(Invariants, HoldOnRandomSmallWorkloads) {
  const FakeStepTime step_time(Seconds{1});
  std::int64_t preemptions = 0, rejected = 0;
  for (std::uint64_t seed = 0; seed < trials(2000U); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed);
    const Replica replica = replica_of(c.engine, step_time, c.usable_blocks, c.block_tokens);
    Loop loop(c, replica);
    ASSERT_NO_FATAL_FAILURE(loop.run());
    const auto result = simulate(replica, c.workload, {.max_concurrency = c.max_concurrency});
    ASSERT_NO_FATAL_FAILURE(check_result(c, result));
    ASSERT_NO_FATAL_FAILURE(expect_same_times(loop.records(), result.requests));
    preemptions += result.use.preemptions;
    rejected += result.rejected;
  }
  // The cases reach what they are meant to reach.
  EXPECT_GT(preemptions, often(1000));
  EXPECT_GT(rejected, often(1000));
}

}  // namespace
}  // namespace roofcast::test
