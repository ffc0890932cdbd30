// Random small workloads through TensorRT-LLM's schedulers and the static and naive loops:
// invariants that must always hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "simulator/engine/admission.hpp"
#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

EngineCase tensorrt_case(std::uint64_t seed, CapacityPolicy policy) {
  EngineCase c = random_engine_case(seed);
  c.engine.kv_reservation = KvReservation::paged;
  RandomStream random = random_stream(seed, "tensorrt_case");
  c.engine.scheduler = SchedulerKind::tensorrt_llm;
  c.engine.capacity_scheduler_policy = policy;
  c.engine.context_chunking_policy =
      one_in(random, 2) ? ChunkingPolicy::equal_progress : ChunkingPolicy::first_come_first_served;
  c.engine.chunked_prefill = one_in(random, 2);
  c.engine.counts_cached = one_in(random, 2);
  draw_drafts(random, c.engine);
  return c;
}

/// After every decision: blocks add up, limits hold, chunks are whole blocks.
void check_tensorrt_step(const PlainEngine& engine) {
  const EngineState& state = engine.state();
  const KvBlocks& blocks = state.blocks;
  std::int64_t held = 0;
  for (RequestId id : state.running) held += state[id].kv.blocks;
  ASSERT_EQ(blocks.used() + blocks.free(), blocks.usable());
  ASSERT_GE(blocks.free(), 0);
  if (state.engine.prefix_caching) {
    ASSERT_GE(held, blocks.used());  // shared blocks are used once
  } else {
    ASSERT_EQ(held, blocks.used());
  }
  ASSERT_LE(std::ssize(state.running), state.engine.max_num_seqs);
  std::int64_t tokens = 0;
  std::vector<RequestId> scheduled;
  for (const ScheduledTokens& s : engine.plan().scheduled) {
    ASSERT_GT(s.tokens, 0);
    tokens += s.tokens;
    scheduled.push_back(s.request);
  }
  ASSERT_LE(tokens, state.engine.max_num_batched_tokens);
  std::sort(scheduled.begin(), scheduled.end());
  ASSERT_EQ(std::adjacent_find(scheduled.begin(), scheduled.end()), scheduled.end());
  for (const PrefillChunk& chunk : engine.batch().prefills) {
    if (chunk.emits_token) continue;
    ASSERT_TRUE(state.engine.chunked_prefill);
    ASSERT_EQ(chunk.new_tokens % blocks.layout().block_tokens, 0);
  }
}

/// Running requests can finish with the blocks that are free.
void check_reservations(const PlainEngine& engine) {
  const EngineState& state = engine.state();
  std::int64_t reserved = 0;
  for (RequestId id : state.running) {
    const RequestState& request = state[id];
    if (request.complete()) continue;
    const std::int64_t whole =
        state.blocks.max_needed(request.input_tokens + request.output_tokens);
    reserved += std::max<std::int64_t>(0, whole - request.kv.blocks);
  }
  ASSERT_LE(reserved, state.blocks.free());
}

/// Runs a case's requests through a plain engine, calling `look` at every step.
class CaseRun {
 public:
  explicit CaseRun(const EngineCase& c)
      : step_time_(telling_time, c.spans),
        replica_{.engine = c.engine,
                 .layout = c.layout,
                 .kv_blocks = c.usable_blocks + 1,
                 .step_time = &step_time_},
        contents_(c.workload.contents),
        records_(records_of(c.workload)),
        gaps_(2),
        table_(records_, contents_),
        engine_(replica_, table_, gaps_) {
    reject_impossible(records_, replica_);
  }

  template <class Look>
  void run(const Look& look) {
    Nanoseconds now = 0;
    std::size_t arrived = 0;
    while (true) {
      for (; arrived < records_.size() && records_[arrived].queued <= now; ++arrived) {
        if (records_[arrived].rejected) continue;
        table_.enter(static_cast<RequestId>(arrived));
        engine_.enqueue(static_cast<RequestId>(arrived));
      }
      if (const auto end = engine_.start_step(now)) {
        ASSERT_NO_FATAL_FAILURE(check_tensorrt_step(engine_));
        ASSERT_NO_FATAL_FAILURE(look(engine_));
        engine_.finish_step();
        now = *end;
      } else if (arrived < records_.size()) {
        now = records_[arrived].queued;
      } else {
        break;
      }
    }
    check_end();
  }

  const std::vector<RequestRecord>& records() const { return records_; }
  const EngineCounters& counters() const { return engine_.counters(); }

 private:
  void check_end() const {
    ASSERT_TRUE(engine_.state().running.empty());
    ASSERT_TRUE(engine_.state().waiting.empty());
    ASSERT_EQ(engine_.state().blocks.used(), 0);
    std::int64_t needed = 0;
    for (const RequestRecord& r : records_) {
      ASSERT_NE(r.finished == kNever, !r.rejected);
      if (!r.rejected) needed += r.request.input_tokens + r.request.output_tokens - 1;
    }
    // Every token but a request's last is computed or found once, and again as often as it was
    // lost.
    if (engine_.state().engine.scheduler == SchedulerKind::naive) return;
    const EngineCounters& counters = engine_.counters();
    ASSERT_EQ(counters.prefill_tokens + counters.decode_tokens + counters.prefix_hits,
              needed + counters.recomputed_tokens);
  }

  FakeStepTime step_time_;
  Replica replica_;
  std::vector<ContentSpan> contents_;
  std::vector<RequestRecord> records_;
  TokenGaps gaps_;
  RequestTable table_;
  PlainEngine engine_;
};

TEST(TensorrtCases, NoEvictNeverPreemptsAndAlwaysHasBlocksToTheEnd) {
  std::int64_t served = 0, hits = 0;
  for (std::uint64_t seed = 0; seed < trials(3000U); ++seed) {
    SCOPED_TRACE(seed);
    CaseRun run(tensorrt_case(seed, CapacityPolicy::guaranteed_no_evict));
    ASSERT_NO_FATAL_FAILURE(run.run(check_reservations));
    ASSERT_EQ(run.counters().preemptions, 0);
    ASSERT_EQ(run.counters().recomputed_tokens, 0);
    hits += run.counters().prefix_hits;
    served += std::count_if(run.records().begin(), run.records().end(),
                            [](const RequestRecord& r) { return !r.rejected; });
  }
  // The cases reach what they are meant to reach.
  EXPECT_GT(served, often(20'000));
  EXPECT_GT(hits, often(20'000));
}

TEST(TensorrtCases, FirstComeFirstServedStartsInOrderWithoutReuse) {
  for (std::uint64_t seed = 0; seed < trials(1000U); ++seed) {
    SCOPED_TRACE(seed);
    EngineCase c = tensorrt_case(seed, CapacityPolicy::guaranteed_no_evict);
    c.engine.order = QueueOrder::fcfs;
    c.engine.prefix_caching = c.engine.chunked_prefill = false;
    CaseRun run(c);
    ASSERT_NO_FATAL_FAILURE(run.run([](const PlainEngine&) {}));
    Nanoseconds last = 0;
    for (const RequestRecord& r : run.records()) {
      if (r.rejected) continue;
      ASSERT_GE(r.scheduled, last);
      last = r.scheduled;
    }
  }
}

TEST(TensorrtCases, MaxUtilizationPausesTheNewest) {
  std::int64_t paused = 0;
  for (std::uint64_t seed = 0; seed < trials(3000U); ++seed) {
    SCOPED_TRACE(seed);
    EngineCase c = tensorrt_case(seed, CapacityPolicy::max_utilization);
    CaseRun run(c);
    std::map<RequestId, std::int64_t> started;  // by step
    std::int64_t step = 0;
    ASSERT_NO_FATAL_FAILURE(run.run([&](const PlainEngine& engine) {
      ++step;
      for (RequestId id : engine.plan().preempted) {
        ++paused;
        // Those that the step left running started no later.
        for (const ScheduledTokens& s : engine.plan().scheduled) {
          ASSERT_LE(started.at(s.request), started.at(id));
        }
      }
      if (!engine.plan().preempted.empty()) {
        ASSERT_TRUE(engine.plan().admitted.empty());
      }
      for (RequestId id : engine.plan().admitted) started[id] = step;
    }));
  }
  EXPECT_GT(paused, often(1000));
}

TEST(TensorrtCases, AStaticBatchStartsWhenNobodyGenerates) {
  for (std::uint64_t seed = 0; seed < trials(1000U); ++seed) {
    SCOPED_TRACE(seed);
    CaseRun run(tensorrt_case(seed, CapacityPolicy::static_batch));
    ASSERT_NO_FATAL_FAILURE(run.run([](const PlainEngine& engine) {
      if (!engine.plan().admitted.empty()) {
        ASSERT_EQ(engine.batch().decode_sequences, 0);
      }
    }));
    ASSERT_EQ(run.counters().preemptions, 0);
  }
}

TEST(StaticAndNaiveCases, ServeEverythingAndStartNothingBesideABatch) {
  for (const SchedulerKind kind : {SchedulerKind::static_batch, SchedulerKind::naive}) {
    for (std::uint64_t seed = 0; seed < trials(1000U); ++seed) {
      SCOPED_TRACE(seed);
      EngineCase c = random_engine_case(seed);
      c.engine.kv_reservation = KvReservation::paged;
      c.engine.scheduler = kind;
      c.engine.chunked_prefill = c.engine.prefix_caching = false;
      if (kind == SchedulerKind::naive) c.engine.max_num_seqs = 1;
      CaseRun run(c);
      ASSERT_NO_FATAL_FAILURE(run.run([](const PlainEngine& engine) {
        if (engine.plan().admitted.empty()) return;
        ASSERT_EQ(engine.plan().admitted.size(), engine.plan().scheduled.size());
        ASSERT_EQ(engine.batch().decode_sequences, 0);
      }));
      ASSERT_EQ(run.counters().preemptions, 0);
    }
  }
}

}  // namespace
}  // namespace roofcast::test
