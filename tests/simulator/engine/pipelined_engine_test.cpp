// Several micro-batches in a pipeline: schedules worked out by hand, and counts that must hold on
// any workload.
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "simulator/engine/admission.hpp"
#include "simulator/engine/pipelined_engine.hpp"
#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

/// Every step takes these times, before and on each stage.
class FixedStages final : public StepTime {
 public:
  explicit FixedStages(std::vector<Seconds> stages, Seconds before = {})
      : time_{.before = before, .stages = std::move(stages)} {}
  explicit FixedStages(StagedTime time) : time_(std::move(time)) {}

  const std::vector<AttentionSpan>& spans() const override { return spans_; }
  int stages() const override { return static_cast<int>(time_.stages.size()); }
  Seconds seconds(const StepBatch&) const override { return time_.path(); }
  void divide(const StepBatch& batch, StagedTime& time) const override {
    time = time_;
    other_requests.push_back(batch.other_requests);
  }

  mutable std::vector<std::int64_t> other_requests;  // of each step

 private:
  StagedTime time_;
  std::vector<AttentionSpan> spans_{AttentionSpan{}};
};

std::vector<Seconds> seconds_each(std::size_t stages) {
  return std::vector<Seconds>(stages, Seconds{1});
}

/// Steps of at most 4 tokens, so that prompts of 4 tokens fill a micro-batch each.
Engine narrow_engine(SchedulerKind scheduler = SchedulerKind::vllm_v1) {
  Engine engine = plain_engine();
  engine.scheduler = scheduler;
  engine.max_num_batched_tokens = 4;
  engine.max_num_seqs = 4;
  engine.max_prefill_tokens = 4;
  return engine;
}

SimulationResult run_of(const Engine& engine, const StepTime& times, const Workload& workload) {
  return simulate(replica_of(engine, times, 1000, 1), workload, {});
}

double at(Nanoseconds time) { return to_seconds(time).value; }

// Stage 1: A B A B A B, stage 2 one second later.
TEST(PipelinedEngine, TwoMicroBatchesTakeTurns) {
  const FixedStages times(seconds_each(2));
  const auto result = run_of(narrow_engine(), times, batch_of({{4, 3}, {4, 3}}));
  EXPECT_EQ(at(result.requests[0].first_token), 2.0);
  EXPECT_EQ(at(result.requests[1].first_token), 3.0);
  EXPECT_EQ(at(result.requests[0].finished), 6.0);
  EXPECT_EQ(at(result.requests[1].finished), 7.0);
  EXPECT_EQ(result.use.steps, 6);
}

// p requests in p micro-batches: the first token after p seconds, one more a second from then on.
// One batch at a time takes p seconds for each step.
TEST(PipelinedEngine, PStagesHavePTimesTheThroughputOfOneBatchThroughAll) {
  constexpr std::int64_t kTokens = 5;
  for (const std::int64_t stages : {1, 2, 4}) {
    const FixedStages times(seconds_each(static_cast<std::size_t>(stages)));
    const std::vector<Lengths> all(static_cast<std::size_t>(stages), {4, kTokens});
    const auto result = run_of(narrow_engine(), times, batch_of(all));
    const double last = static_cast<double>(stages * kTokens + stages - 1);
    EXPECT_EQ(at(result.requests.back().finished), last) << stages;
    EXPECT_EQ(at(result.requests.front().finished), static_cast<double>(stages * kTokens));
    EXPECT_EQ(result.use.steps, stages * kTokens);
    if (stages == 1) continue;
    // Every step takes `stages` seconds, so on average this many are at work.
    EXPECT_DOUBLE_EQ(result.use.steps_at_once,
                     static_cast<double>(stages * stages * kTokens) / last);
  }
}

// The stage of three seconds is always busy: A 1-4, B 4-7, A 7-10, B 10-13.
TEST(PipelinedEngine, TheSlowestStageSetsThePace) {
  const FixedStages times({Seconds{1}, Seconds{3}});
  const auto result = run_of(narrow_engine(), times, batch_of({{4, 2}, {4, 2}}));
  EXPECT_EQ(at(result.requests[0].first_token), 4.0);
  EXPECT_EQ(at(result.requests[1].first_token), 7.0);
  EXPECT_EQ(at(result.requests[0].finished), 10.0);
  EXPECT_EQ(at(result.requests[1].finished), 13.0);
}

// The host prepares one step at a time: A 0-0.5, B 0.5-1, A again from 2.5, when its token is back.
TEST(PipelinedEngine, TheHostPreparesOneStepAfterTheOther) {
  const FixedStages times(seconds_each(2), Seconds{0.5});
  const auto result = run_of(narrow_engine(), times, batch_of({{4, 2}, {4, 2}}));
  EXPECT_EQ(at(result.requests[0].first_token), 2.5);
  EXPECT_EQ(at(result.requests[1].first_token), 3.5);
  EXPECT_EQ(at(result.requests[0].finished), 5.0);
  EXPECT_EQ(at(result.requests[1].finished), 6.0);
}

/// Two stages of a second each, whose own hosts do this first.
StagedTime with_hosts(StageHost host, bool hosts_wait) {
  return {.stages = seconds_each(2), .hosts = {host, host}, .hosts_wait = hosts_wait};
}

// Stage 1 computes A 0.5-1.5, B 1.5-2.5, A again 3-4 (its token is back at 2.5), B 4-5: both hosts
// prepare a step while their GPUs compute the one ahead.
TEST(PipelinedEngine, HostsOfStagesPrepareWhileTheGpuComputes) {
  const FixedStages times(with_hosts({.prepares = Seconds{0.5}}, false));
  const auto result = run_of(narrow_engine(), times, batch_of({{4, 2}, {4, 2}}));
  EXPECT_EQ(at(result.requests[0].first_token), 2.5);
  EXPECT_EQ(at(result.requests[1].first_token), 3.5);
  EXPECT_EQ(at(result.requests[0].finished), 5.0);
  EXPECT_EQ(at(result.requests[1].finished), 6.0);
}

// The first stage's host prepares B from 1.5 on, when A has left its GPU: stage 1 computes A
// 0.5-1.5, B 2-3, A 3.5-4.5, B 5-6, A 6.5-7.5, a step in 1.5 s.
TEST(PipelinedEngine, HostsOfStagesWaitForTheirGpu) {
  const FixedStages times(with_hosts({.prepares = Seconds{0.5}}, true));
  const auto result = run_of(narrow_engine(), times, batch_of({{4, 3}, {4, 3}}));
  EXPECT_EQ(at(result.requests[0].first_token), 2.5);
  EXPECT_EQ(at(result.requests[1].first_token), 4.0);
  EXPECT_EQ(at(result.requests[0].finished), 8.5);
  EXPECT_EQ(at(result.requests[1].finished), 10.0);
}

// Each host is busy with a step for 2.5 s. Stage 1 ends A at 2.5 and B at 5, with the last launch;
// stage 2, whose launches end at the same times, has A 2.5-3.5 and B 5-6.
TEST(PipelinedEngine, KernelsOfAStageAwaitTheirLaunches) {
  const FixedStages times(with_hosts({.prepares = Seconds{0.5}, .launches = Seconds{2}}, false));
  const auto result = run_of(narrow_engine(), times, batch_of({{4, 1}, {4, 1}}));
  EXPECT_EQ(at(result.requests[0].finished), 3.5);
  EXPECT_EQ(at(result.requests[1].finished), 6.0);
}

// Three requests of one step each on two stages: beside A are B and C, beside B are A and C, beside
// C, when A has ended, is B. With one place in each micro-batch C waits outside until then.
TEST(PipelinedEngine, StepsKnowOfTheOtherRequests) {
  Engine engine = narrow_engine(SchedulerKind::tensorrt_llm);
  const Workload workload = batch_of({{4, 1}, {4, 1}, {4, 1}});
  const FixedStages roomy(seconds_each(2));
  run_of(engine, roomy, workload);
  EXPECT_EQ(roomy.other_requests, (std::vector<std::int64_t>{2, 2, 1}));
  engine.max_num_seqs = 1;
  const FixedStages narrow(seconds_each(2));
  run_of(engine, narrow, workload);
  EXPECT_EQ(narrow.other_requests, (std::vector<std::int64_t>{1, 1, 1}));
}

// Chunks of 4, 4 and 2 tokens follow each other: the prompt takes 2 + 2 seconds, not 3 * 2.
TEST(PipelinedEngine, TheChunksOfAPromptFollowEachOther) {
  const FixedStages times(seconds_each(2));
  const auto result = run_of(narrow_engine(), times, batch_of({{10, 1}}));
  EXPECT_EQ(at(result.requests[0].first_token), 4.0);
}

// With nothing else to run the engine waits for the step in progress: B, of second 1, starts at 2.
TEST(PipelinedEngine, ArrivalsWaitForTheOldestStep) {
  const FixedStages times(seconds_each(2));
  Workload workload = batch_of({{4, 1}, {4, 1}});
  workload.requests[1].arrival = kSecond;
  const auto result = run_of(narrow_engine(), times, workload);
  EXPECT_EQ(at(result.requests[0].finished), 2.0);
  EXPECT_EQ(at(result.requests[1].finished), 4.0);
}

// vLLM: A's next token shares a step with C's first three tokens (2-4), B's step follows at once
// (3-5) with C's last token. SGLang: C joins A's micro-batch, whose prefill (2-4) pauses A; B (3-5)
// goes on.
TEST(PipelinedEngine, SglangKeepsMicroBatchesApart) {
  const FixedStages times(seconds_each(2));
  Workload workload = batch_of({{4, 2}, {4, 2}, {4, 2}});
  workload.requests[2].arrival = kSecond;
  const auto vllm = run_of(narrow_engine(), times, workload);
  EXPECT_EQ(at(vllm.requests[0].finished), 4.0);
  EXPECT_EQ(at(vllm.requests[1].finished), 5.0);
  EXPECT_EQ(at(vllm.requests[2].first_token), 5.0);
  const auto sglang = run_of(narrow_engine(SchedulerKind::sglang), times, workload);
  EXPECT_EQ(at(sglang.requests[0].first_token), 2.0);
  EXPECT_EQ(at(sglang.requests[1].finished), 5.0);
  EXPECT_EQ(at(sglang.requests[2].first_token), 4.0);
  EXPECT_EQ(at(sglang.requests[0].finished), 6.0);
  EXPECT_EQ(at(sglang.requests[2].finished), 6.0);
}

// max_batch_size holds for a micro-batch of TensorRT-LLM, max_num_seqs for all of vLLM's together.
// SGLang divides max_running_requests among them.
TEST(PipelinedEngine, LimitsHoldAsTheEnginesCountThem) {
  const FixedStages times(seconds_each(2));
  const Workload workload = batch_of({{4, 3}, {4, 3}, {4, 3}});
  const auto peak = [&](SchedulerKind scheduler, std::int64_t max_num_seqs) {
    Engine engine = narrow_engine(scheduler);
    engine.max_num_seqs = max_num_seqs;
    return run_of(engine, times, workload).use.peak_running;
  };
  EXPECT_EQ(peak(SchedulerKind::vllm_v1, 1), 1);
  EXPECT_EQ(peak(SchedulerKind::tensorrt_llm, 1), 2);
  EXPECT_EQ(peak(SchedulerKind::sglang, 2), 2);
}

auto course_of(const RequestRecord& r) {
  return std::tuple(r.scheduled, r.first_token, r.finished, r.largest_gap, r.cached_tokens,
                    r.preemptions);
}

/// The case's step times on `stages` stages of different speed.
class DividedTime final : public StepTime {
 public:
  DividedTime(std::vector<AttentionSpan> spans, int stages)
      : spans_(std::move(spans)), stages_(stages) {}

  const std::vector<AttentionSpan>& spans() const override { return spans_; }
  int stages() const override { return stages_; }
  Seconds seconds(const StepBatch& batch) const override { return telling_time(batch); }
  void divide(const StepBatch& batch, StagedTime& time) const override {
    time.before = {};
    time.stages.clear();
    const double parts = stages_ * (stages_ + 1) / 2.0;
    for (int i = 1; i <= stages_; ++i) time.stages.push_back(telling_time(batch) * (i / parts));
  }

 private:
  std::vector<AttentionSpan> spans_;
  int stages_;
};

SchedulerKind drawn_scheduler(const EngineCase& c, std::uint64_t seed) {
  const bool plain = c.engine.kv_reservation == KvReservation::paged &&
                     c.engine.order == QueueOrder::fcfs && c.layout.groups.size() == 1;
  return plain && seed % 4 == 0 ? SchedulerKind::sglang : c.engine.scheduler;
}

EngineCase pipeline_case(std::uint64_t seed) {
  EngineCase c = random_engine_case(seed);
  c.engine.async_scheduling = false;
  c.engine.stream_interval = 1;  // every token shows
  c.engine.scheduler = drawn_scheduler(c, seed);
  if (c.engine.scheduler == SchedulerKind::static_batch) c.engine.chunked_prefill = false;
  if (c.engine.scheduler == SchedulerKind::sglang) {
    c.engine.max_num_batched_tokens = 2 * c.layout.block_tokens;  // whole pages
    c.engine.max_prefill_tokens = c.engine.max_num_batched_tokens;
  }
  return c;
}

SimulationResult run_on(const EngineCase& c, const StepTime& times, EngineKind kind) {
  const Replica replica{.engine = c.engine,
                        .layout = c.layout,
                        .kv_blocks = c.usable_blocks + 1,
                        .step_time = &times};
  return simulate(replica, c.workload, {.max_concurrency = c.max_concurrency, .engine_kind = kind});
}

/// Runs a workload that is all there at time 0 on one engine.
template <class EngineType>
std::vector<RequestRecord> records_on(const EngineCase& c, const StepTime& times) {
  std::vector<RequestRecord> records = records_of(c.workload);
  RequestTable table(records, c.workload.contents);
  TokenGaps gaps(2);
  const Replica replica{.engine = c.engine,
                        .layout = c.layout,
                        .kv_blocks = c.usable_blocks + 1,
                        .step_time = &times};
  reject_impossible(records, replica);
  EngineType engine(replica, table, gaps);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].rejected) continue;
    records[i].queued = 0;
    table.enter(static_cast<RequestId>(i));
    engine.enqueue(static_cast<RequestId>(i));
  }
  Nanoseconds now = 0;
  while (const auto end = engine.start_step(now)) {
    now = *end;
    engine.finish_step();
  }
  EXPECT_EQ(engine.load().running, 0);
  EXPECT_EQ(engine.load().waiting, 0);
  return records;
}

TEST(PipelinedEngine, WithOneStageIsThePlainEngine) {
  for (std::uint64_t seed = 0; seed < trials(500U); ++seed) {
    SCOPED_TRACE(seed);
    const EngineCase c = pipeline_case(seed);
    const FakeStepTime times(telling_time, c.spans);
    const auto plain = records_on<PlainEngine>(c, times);
    const auto pipelined = records_on<PipelinedEngine>(c, times);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      ASSERT_TRUE(course_of(plain[i]) == course_of(pipelined[i])) << "request " << i;
    }
  }
}

// Every request that can be served is, each of its tokens comes once, and no order of stages makes
// a step shorter than its own time through all of them.
TEST(PipelinedEngine, ServesEveryRequestOnce) {
  std::int64_t preemptions = 0, completed = 0;
  for (std::uint64_t seed = 0; seed < trials(1500U); ++seed) {
    SCOPED_TRACE(seed);
    const EngineCase c = pipeline_case(seed);
    const DividedTime times(c.spans, 2 + static_cast<int>(seed % 3));
    const SimulationResult result = run_on(c, times, EngineKind::fast);
    std::int64_t outputs = 0, served = 0, rejected = 0;
    for (const RequestRecord& r : result.requests) {
      rejected += r.rejected ? 1 : 0;
      if (r.rejected) continue;
      ASSERT_NE(r.finished, kNever);
      ASSERT_GT(r.first_token, r.scheduled);
      ++served;
      outputs += r.request.output_tokens;
    }
    ASSERT_EQ(result.completed, served);
    ASSERT_EQ(served + rejected, std::ssize(c.workload.requests));
    ASSERT_EQ(result.itl.count, outputs - served);
    ASSERT_LE(result.use.steps_at_once, times.stages() + 1e-9);
    const SimulationResult plain = run_on(c, times, EngineKind::plain);
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_TRUE(course_of(result.requests[i]) == course_of(plain.requests[i])) << "request " << i;
    }
    preemptions += result.use.preemptions;
    completed += result.completed;
  }
  EXPECT_GT(preemptions, often(500));
  EXPECT_GT(completed, often(5000));
}

}  // namespace
}  // namespace roofcast::test
