// Random small workloads on random small SGLang engines: invariants that must always hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "simulator/engine/admission.hpp"
#include "simulator/engine/policy_sglang.hpp"
#include "simulator/engine/sglang_windows.hpp"
#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

/// In a quarter of the cases, a pool of its own for windows.
void draw_windows(std::uint64_t seed, CacheLayout& layout) {
  RandomStream random = random_stream(seed, "windows");
  if (!one_in(random, 4) || layout.groups.size() > 1) return;
  layout.pooled_window = draw(random, 1, 40);
  layout.pooled_share = 0.1 * static_cast<double>(draw(random, 3, 9));
}

/// In a third of those that cache prefixes, prefixes in host memory, too.
void draw_host_cache(std::uint64_t seed, EngineCase& c) {
  RandomStream random = random_stream(seed, "host_cache");
  if (!one_in(random, 3) || !c.engine.prefix_caching || c.layout.pooled_window > 0) return;
  c.engine.hierarchical_cache = {.ratio = 0.5 * static_cast<double>(draw(random, 1, 6)),
                                 .size = {},
                                 .bandwidth = BytesPerSecond{one_in(random, 2) ? 1e9 : 20.0},
                                 .latency = Seconds{0.01}};
}

EngineCase random_sglang_case(std::uint64_t seed) {
  EngineCase c = random_engine_case(seed);
  c.engine.kv_reservation = KvReservation::paged;
  RandomStream random = random_stream(seed, "sglang");
  const std::int64_t page = c.layout.block_tokens;
  Engine& engine = c.engine;
  engine.scheduler = SchedulerKind::sglang;
  engine.max_num_batched_tokens = page * draw(random, 1, 8);
  engine.max_prefill_tokens = draw(random, 1, 100);
  engine.schedule_conservativeness = one_in(random, 3) ? 1.0 : 0.05;
  engine.enable_mixed_chunk = one_in(random, 3);
  constexpr std::array kOrders{QueueOrder::fcfs, QueueOrder::fcfs, QueueOrder::longest_prefix,
                               QueueOrder::longest_output};
  engine.order = kOrders[static_cast<std::size_t>(draw(random, 0, 3))];
  c.usable_blocks = draw(random, 4, 300 / page + 4);
  if (one_in(random, 3)) engine.scheduler_recv_interval = draw(random, 2, 12);
  if (!engine.enable_mixed_chunk && engine.max_num_batched_tokens >= 4) draw_drafts(random, engine);
  draw_windows(seed, c.layout);
  draw_host_cache(seed, c);
  return c;
}

/// Used blocks are exactly those that running requests hold alone and those locked in the tree for
/// them; evictable blocks are free.
void check_pool(const PlainEngine& engine) {
  const EngineState& state = engine.state();
  const auto& policy = dynamic_cast<const SglangPolicy&>(engine.policy());
  const RadixPrefix& prefix = *policy.prefix();
  std::int64_t held = prefix.rows(prefix.tree().locked_tokens());
  for (RequestId id : state.running) {
    held += state[id].kv.blocks - prefix.rows(prefix.held_tokens(id));
    ASSERT_GE(state[id].kv.blocks, prefix.rows(prefix.held_tokens(id)));
  }
  ASSERT_EQ(held, state.blocks.used());
  ASSERT_EQ(state.blocks.used() + state.blocks.free(), state.blocks.usable());
  ASSERT_GE(state.blocks.free(), 0);
  ASSERT_LE(prefix.rows(prefix.tree().evictable_tokens()), state.blocks.free());
}

/// No request holds more of the pool for windows than it has computed, and all together no more
/// than there is, unless one runs alone: that may always begin and go on, however long its prompt.
void check_windows(const PlainEngine& engine) {
  const EngineState& state = engine.state();
  const WindowPool pool = window_pool(state);
  if (!pool.apart()) return;
  const RadixPrefix& prefix = *dynamic_cast<const SglangPolicy&>(engine.policy()).prefix();
  for (RequestId id : state.running) {
    const std::int64_t held = held_in_windows(state, prefix, pool, id);
    ASSERT_GE(held, 0);
    ASSERT_LE(held, state[id].computed);
  }
  if (state.running.size() > 1) {
    ASSERT_GE(window_tokens_left(state, prefix, pool), 0);
  }
}

/// A step is a prefill or a decode, unless mixing is on, and stays within its budgets.
void check_plan(const PlainEngine& engine) {
  const EngineState& state = engine.state();
  const StepBatch& batch = engine.batch();
  if (!state.engine.enable_mixed_chunk) {
    ASSERT_TRUE(batch.prefills.empty() ||
                batch.decode_sequences <= std::ssize(engine.plan().admitted) + 1);
  }
  std::int64_t tokens = 0;
  for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
  if (state.engine.chunked_prefill) {
    ASSERT_LE(tokens, state.engine.max_num_batched_tokens);
  }
  ASSERT_LE(state.running.size(), static_cast<std::size_t>(state.engine.max_num_seqs));
  std::vector<RequestId> scheduled;
  for (const ScheduledTokens& s : engine.plan().scheduled) {
    ASSERT_GT(s.tokens, 0);
    scheduled.push_back(s.request);
  }
  std::sort(scheduled.begin(), scheduled.end());
  ASSERT_EQ(std::adjacent_find(scheduled.begin(), scheduled.end()), scheduled.end());
}

/// All requests arrive at the start; the state is checked at every step.
void run_checked(const EngineCase& c) {
  const FakeStepTime step_time(telling_time, c.spans);
  const Replica replica{.engine = c.engine,
                        .layout = c.layout,
                        .kv_blocks = c.usable_blocks + 1,
                        .step_time = &step_time};
  std::vector<RequestRecord> records = records_of(c.workload);
  reject_impossible(records, replica);
  TokenGaps gaps(2);
  RequestTable table(records, c.workload.contents);
  PlainEngine engine(replica, table, gaps);
  std::int64_t sent = 0, finished = 0;
  for (RequestId id = 0; id < std::ssize(records); ++id) {
    if (records[static_cast<std::size_t>(id)].rejected) continue;
    table.enter(id);
    engine.enqueue(id);
    ++sent;
  }
  Nanoseconds now = 0;
  while (const auto end = engine.start_step(now)) {
    ASSERT_NO_FATAL_FAILURE(check_pool(engine));
    ASSERT_NO_FATAL_FAILURE(check_windows(engine));
    ASSERT_NO_FATAL_FAILURE(check_plan(engine));
    finished += std::ssize(engine.finish_step());
    now = *end;
  }
  ASSERT_EQ(finished, sent);
  ASSERT_TRUE(engine.state().running.empty());
  ASSERT_TRUE(engine.state().waiting.empty());
  ASSERT_EQ(engine.state().blocks.used(), 0);
}

TEST(SglangInvariants, ThePoolAddsUpAtEveryStep) {
  for (std::uint64_t seed = 0; seed < trials(2000U); ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(run_checked(random_sglang_case(seed)));
  }
}

TEST(SglangInvariants, ALostReplicaHoldsNothing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const EngineCase c = random_sglang_case(seed);
    const FakeStepTime step_time(telling_time, c.spans);
    std::vector<RequestRecord> records = records_of(c.workload);
    const Replica replica{.engine = c.engine,
                          .layout = c.layout,
                          .kv_blocks = c.usable_blocks + 1,
                          .step_time = &step_time};
    TokenGaps gaps(2);
    RequestTable table(records, c.workload.contents);
    PlainEngine engine(replica, table, gaps);
    const auto all = static_cast<RequestId>(records.size());
    for (RequestId id = 0; id < all; ++id) {
      table.enter(id);
      engine.enqueue(id);
    }
    Nanoseconds now = 0;
    std::int64_t finished = 0;
    for (int step = 0; step < 5; ++step) {
      const auto end = engine.start_step(now);
      if (!end) break;
      finished += std::ssize(engine.finish_step());
      now = *end;
    }
    ASSERT_EQ(std::ssize(engine.evacuate()) + finished, all);
    ASSERT_EQ(engine.state().blocks.used(), 0);
  }
}

std::string life_of(const RequestRecord& r) {
  return fmt::format("scheduled {} first {} finished {} gap {} cached {} preempted {}", r.scheduled,
                     r.first_token, r.finished, r.largest_gap, r.cached_tokens, r.preemptions);
}

std::string words_of_use(const EngineUse& use) {
  return fmt::format(
      "steps {} prefill {} recomputed {} decode {} hits {} kv {} {} {} {} waiting {}", use.steps,
      use.prefill_tokens, use.recomputed_tokens, use.decode_tokens, use.prefix_hits,
      use.mean_kv_use, use.peak_kv_use, use.mean_kv_empty, use.peak_kv_empty, use.mean_waiting);
}

TEST(SglangInvariants, EveryRequestIsServedAndNoTokenLostByEitherEngine) {
  std::int64_t preemptions = 0, hits = 0, loaded = 0, rejected = 0, completed = 0;
  for (std::uint64_t seed = 0; seed < trials(2000U); ++seed) {
    SCOPED_TRACE(seed);
    const EngineCase c = random_sglang_case(seed);
    const SimulationResult plain = run(c, EngineKind::plain);
    ASSERT_EQ(plain.unfinished, 0);
    std::int64_t needed = 0;
    for (const RequestRecord& r : plain.requests) {
      if (!r.rejected) needed += r.request.input_tokens + r.request.output_tokens - 1;
    }
    // Every token but a request's last is computed once, unless it was cached, and again as often
    // as it was lost.
    ASSERT_EQ(
        plain.use.prefill_tokens + plain.use.decode_tokens,
        needed + plain.use.recomputed_tokens - plain.use.prefix_hits - plain.use.offload_hits);
    const SimulationResult fast = run(c, EngineKind::fast);
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_EQ(life_of(fast.requests[i]), life_of(plain.requests[i])) << "request " << i;
    }
    ASSERT_EQ(words_of_use(fast.use), words_of_use(plain.use));
    preemptions += plain.use.preemptions;
    hits += plain.use.prefix_hits;
    loaded += plain.use.offload_hits;
    rejected += plain.rejected;
    completed += plain.completed;
  }
  // The cases reach what they are meant to reach.
  EXPECT_GT(preemptions, often(300));
  EXPECT_GT(loaded, often(300));
  EXPECT_GT(hits, often(10'000));
  EXPECT_GT(rejected, often(1000));
  EXPECT_GT(completed, often(10'000));
}

}  // namespace
}  // namespace roofcast::test
