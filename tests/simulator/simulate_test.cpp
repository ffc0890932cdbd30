// Whole runs compared with closed forms.
#include "simulator/simulate.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

SyntheticWorkload poisson(std::int64_t requests, double rate) {
  SyntheticWorkload spec{.num_prompts = requests, .request_rate = rate};
  spec.input = {LengthDistribution::Kind::fixed, 10, 0};
  spec.output = {LengthDistribution::Kind::fixed, 1, 0};
  return spec;
}

TEST(Simulate, OneRequestTakesItsPromptAndItsDecodesToTheNanosecond) {
  // Step: 1 ms plus 10 us a prompt token plus 3 ns an attended token.
  // Prompt of 100: 1 ms + 1 ms = 2,000,000 ns. Decodes attend 101, 102, 103 tokens:
  // 1,000,303 + 1,000,306 + 1,000,309 ns.
  const FakeStepTime step_time([](const StepBatch& batch) {
    double nanoseconds = 1e6;
    for (const PrefillChunk& chunk : batch.prefills) {
      nanoseconds += 1e4 * static_cast<double>(chunk.new_tokens);
    }
    nanoseconds += 3 * static_cast<double>(batch.decode_attended[0]);
    return Seconds{nanoseconds * 1e-9};
  });
  Workload workload = batch_of({{100, 4}});
  workload.requests[0].arrival = 7;
  const auto result = simulate(roomy_replica(plain_engine(), step_time), workload, {});
  const RequestRecord& record = result.requests[0];
  EXPECT_EQ(record.sent, 7);
  EXPECT_EQ(record.scheduled, 7);
  EXPECT_EQ(record.first_token, 7 + 2'000'000);
  EXPECT_EQ(record.finished, 7 + 2'000'000 + 1'000'303 + 1'000'306 + 1'000'309);
  EXPECT_EQ(result.use.steps, 4);
  EXPECT_DOUBLE_EQ(result.ttft.mean, 2e-3);
  EXPECT_DOUBLE_EQ(result.tpot.mean, 3'000'918e-9 / 3);
  EXPECT_DOUBLE_EQ(result.itl.p50, 1'000'306e-9);
  EXPECT_DOUBLE_EQ(result.use.busy_share, 1.0);
}

TEST(Simulate, EverySpanOfTheModelIsSummedOverTheDecodes) {
  // Contexts of 5 and 20 tokens: a full layer attends 6 and 21, a window of 8 attends 6 and 8.
  std::vector<std::vector<std::int64_t>> attended;
  const FakeStepTime step_time(
      [&](const StepBatch& batch) {
        attended.push_back(batch.decode_attended);
        return Seconds{1};
      },
      {AttentionSpan{}, AttentionSpan{.kind = AttentionSpan::Kind::sliding, .tokens = 8}});
  simulate(roomy_replica(plain_engine(), step_time), batch_of({{5, 2}, {20, 2}}), {});
  ASSERT_EQ(attended.size(), 2u);
  EXPECT_THAT(attended[0], ElementsAre(0, 0));
  EXPECT_THAT(attended[1], ElementsAre(27, 14));
}

TEST(Simulate, ARequestThatArrivesDuringAStepIsSeenByTheNext) {
  // Steps of 1 s. B arrives at 0.5 s, is scheduled at 1 s, has its token at 2 s.
  const FakeStepTime step_time(Seconds{1});
  Workload workload = batch_of({{10, 3}, {10, 1}});
  workload.requests[1].arrival = kSecond / 2;
  const auto result = simulate(roomy_replica(plain_engine(), step_time), workload, {});
  EXPECT_EQ(result.requests[1].scheduled, 1 * kSecond);
  EXPECT_EQ(result.requests[1].finished, 2 * kSecond);
  EXPECT_DOUBLE_EQ(result.ttft.max, 1.5);
  EXPECT_DOUBLE_EQ(result.queue.max, 0.5);
}

TEST(Simulate, TheHostsTimePerRequestComesBeforeTheQueue) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.host.per_request = Seconds{0.25};
  const auto result = simulate(roomy_replica(engine, step_time), batch_of({{10, 2}}), {});
  EXPECT_EQ(result.requests[0].sent, 0);
  EXPECT_EQ(result.requests[0].queued, kSecond / 4);
  EXPECT_EQ(result.requests[0].first_token, kSecond / 4 + kSecond);
  EXPECT_DOUBLE_EQ(result.ttft.mean, 1.25);
  EXPECT_DOUBLE_EQ(result.queue.mean, 0);
  EXPECT_DOUBLE_EQ(result.e2e.mean, 2.25);
}

// Prompts of 10, 20 and 5 tokens at once, tokenised in 0.1 s a token: at 1, 2 and 0.5 s in threads,
// at 1, 3 and 3.5 s one after the other. Steps take a second.
TEST(Simulate, PromptsAreTokenisedAtOnceOrInTurn) {
  const FakeStepTime step_time(Seconds{1});
  const Workload workload = batch_of({{10, 1}, {20, 1}, {5, 1}});
  Engine engine = plain_engine();
  engine.host.per_prompt_token = Seconds{0.1};
  engine.host.per_request = Seconds{0.25};
  const auto queued_by = [&](SchedulerKind scheduler) {
    engine.scheduler = scheduler;
    std::vector<Nanoseconds> queued;
    for (const RequestRecord& record :
         simulate(roomy_replica(engine, step_time), workload, {}).requests) {
      queued.push_back(record.queued - kSecond / 4);
    }
    return queued;
  };
  EXPECT_EQ(queued_by(SchedulerKind::vllm_v1),
            (std::vector<Nanoseconds>{kSecond, 2 * kSecond, kSecond / 2}));
  EXPECT_EQ(queued_by(SchedulerKind::sglang),
            (std::vector<Nanoseconds>{kSecond, 3 * kSecond, 7 * kSecond / 2}));
}

// Prompts of 10, 20 and 5 tokens, tokenised in 0.1 s a token: in turn they wait 0, 1 and 3 s.
TEST(Simulate, PromptsWaitForTheTokeniserWhereItTakesThemInTurn) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.host.per_prompt_token = Seconds{0.1};
  const Workload workload = batch_of({{10, 1}, {20, 1}, {5, 1}});
  EXPECT_EQ(simulate(roomy_replica(engine, step_time), workload, {}).tokenizer_queue.count, 0);
  engine.scheduler = SchedulerKind::sglang;
  const auto result = simulate(roomy_replica(engine, step_time), workload, {});
  EXPECT_EQ(result.tokenizer_queue.count, 3);
  EXPECT_DOUBLE_EQ(result.tokenizer_queue.mean, (0 + 1 + 3) / 3.0);
  EXPECT_DOUBLE_EQ(result.tokenizer_queue.max, 3);
}

// Of a prompt's 30 tokens 20 are two images: 10 tokens of text take a second.
TEST(Simulate, ImagesAreNotTokenised) {
  const FakeStepTime step_time(Seconds{1});
  Workload workload = batch_of({{30, 1}});
  workload.requests[0].images = 2;
  workload.requests[0].image_tokens = 10;
  Engine engine = plain_engine();
  engine.host.per_prompt_token = Seconds{0.1};
  const auto result = simulate(roomy_replica(engine, step_time), workload, {});
  EXPECT_EQ(result.requests[0].queued, kSecond);
}

TEST(Simulate, ARequestThatArrivesWithinAStepHasWaited) {
  const FakeStepTime step_time(Seconds{1});
  Workload workload = batch_of({{10, 2}, {10, 1}});
  workload.requests[1].arrival = kSecond / 2;
  const auto result = simulate(roomy_replica(plain_engine(), step_time), workload, {});
  EXPECT_DOUBLE_EQ(result.use.mean_waiting, 0.5 / 2);  // half a second of two
  EXPECT_EQ(result.use.peak_waiting, 1);
}

TEST(Simulate, ARequestThatAnIdleEngineTakesHasNotWaited) {
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(roomy_replica(plain_engine(), step_time), batch_of({{10, 1}}), {});
  EXPECT_EQ(result.use.peak_waiting, 0);
}

TEST(Simulate, AnIdleEngineWaitsForTheNextRequest) {
  const FakeStepTime step_time(Seconds{1});
  Workload workload = batch_of({{10, 1}, {10, 1}});
  workload.requests[1].arrival = 10 * kSecond;
  const auto result = simulate(roomy_replica(plain_engine(), step_time), workload, {});
  EXPECT_EQ(result.requests[1].finished, 11 * kSecond);
  EXPECT_DOUBLE_EQ(result.makespan.value, 11);
  EXPECT_DOUBLE_EQ(result.use.busy_share, 2.0 / 11);
  EXPECT_DOUBLE_EQ(result.request_rate_per_s, 2.0 / 11);
  EXPECT_DOUBLE_EQ(result.offered_rate_per_s, 0.1);
  EXPECT_DOUBLE_EQ(result.input_tokens_per_s, 20.0 / 11);
}

TEST(Simulate, LittlesLawHoldsForWaitingAndRunning) {
  // Levels are integrated over steps and moves; waits and services are summed over requests.
  const FakeStepTime step_time(Seconds{0.02});
  Engine engine = plain_engine();
  engine.max_num_seqs = 8;
  SyntheticWorkload spec = poisson(5000, 12);
  spec.output = {LengthDistribution::Kind::uniform, 1, 60};
  const auto result = simulate(roomy_replica(engine, step_time), generate(spec, 3), {});
  ASSERT_EQ(result.use.preemptions, 0);
  double service = 0;
  for (const RequestRecord& record : result.requests) {
    service += to_seconds(record.finished - record.scheduled).value;
  }
  const double makespan = result.makespan.value;
  EXPECT_NEAR(result.use.mean_waiting, result.queue.mean * 5000 / makespan, 1e-9);
  EXPECT_NEAR(result.use.mean_running, service / makespan, 1e-9);
  EXPECT_EQ(result.use.peak_running, 8);
}

TEST(Simulate, MaxConcurrencyHoldsRequestsAtTheClient) {
  // One at a time, all created at 0: sent at 0, 1 and 2 s, each served at once.
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(roomy_replica(plain_engine(), step_time),
                               batch_of({{10, 1}, {10, 1}, {10, 1}}), {.max_concurrency = 1});
  EXPECT_EQ(result.requests[2].sent, 2 * kSecond);
  EXPECT_EQ(result.requests[2].finished, 3 * kSecond);
  EXPECT_DOUBLE_EQ(result.ttft.max, 1);  // measured from sending
  EXPECT_DOUBLE_EQ(result.client_queue.max, 2);
  EXPECT_DOUBLE_EQ(result.client_queue.mean, 1);
  EXPECT_DOUBLE_EQ(result.queue.max, 0);
}

TEST(Simulate, NeverMoreOutstandingThanMaxConcurrency) {
  const FakeStepTime step_time(Seconds{0.05});
  SyntheticWorkload spec = poisson(2000, 30);
  spec.output = {LengthDistribution::Kind::uniform, 1, 40};
  const auto result =
      simulate(roomy_replica(plain_engine(), step_time), generate(spec, 5), {.max_concurrency = 7});
  std::vector<std::pair<Nanoseconds, int>> changes;  // departures sort before arrivals
  for (const RequestRecord& record : result.requests) {
    changes.emplace_back(record.sent, +1);
    changes.emplace_back(record.finished, -1);
    EXPECT_GE(record.sent, record.request.arrival);
  }
  std::sort(changes.begin(), changes.end());
  int outstanding = 0, max = 0;
  for (const auto& [time, change] : changes) max = std::max(max, outstanding += change);
  EXPECT_EQ(max, 7);
  EXPECT_EQ(result.completed, 2000);
}

TEST(Simulate, FirstComeFirstServedNeverReordersAdmissions) {
  const FakeStepTime step_time(Seconds{0.01});
  Engine engine = plain_engine();
  engine.max_num_batched_tokens = 300;
  engine.max_num_seqs = 20;
  SyntheticWorkload spec = poisson(1000, 20);
  spec.input = {LengthDistribution::Kind::uniform, 1, 900};
  spec.output = {LengthDistribution::Kind::uniform, 1, 200};
  const auto result = simulate(replica_of(engine, step_time, 400, 16), generate(spec, 11), {});
  ASSERT_GT(result.use.preemptions, 0);
  for (std::size_t i = 1; i < result.requests.size(); ++i) {
    EXPECT_LE(result.requests[i - 1].scheduled, result.requests[i].scheduled);
  }
}

TEST(Simulate, WhatCanNeverBeServedIsRejectedCountedAndExplained) {
  // 10 blocks of 16: 160 tokens in the cache at most. 200 + 10 exceeds max_model_len; 150 + 12
  // caches 161 tokens and needs an 11th block; 150 + 11 just fits.
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.max_model_len = 200;
  const auto result = simulate(replica_of(engine, step_time, 10, 16),
                               batch_of({{200, 10}, {150, 12}, {150, 11}}), {});
  EXPECT_EQ(result.rejected, 2);
  EXPECT_EQ(result.completed, 1);
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_TRUE(result.requests[0].rejected);
  EXPECT_EQ(result.requests[0].finished, kNever);
  EXPECT_EQ(result.requests[2].finished, 11 * kSecond);
  ASSERT_EQ(result.notes.size(), 2u);
  EXPECT_THAT(result.notes[0], HasSubstr("1 request rejected: longer than max_model_len 200"));
  EXPECT_THAT(result.notes[1], HasSubstr("10 usable blocks"));
}

TEST(Simulate, ARunInWhichEverythingIsRejectedEnds) {
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(plain_engine(), step_time, 1, 16),
                               batch_of({{100, 1}, {100, 1}}), {.max_concurrency = 1});
  EXPECT_EQ(result.rejected, 2);
  EXPECT_EQ(result.use.steps, 0);
  EXPECT_DOUBLE_EQ(result.request_rate_per_s, 0);
}

TEST(Simulate, WithoutChunkedPrefillAnOverlongPromptIsRejected) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.chunked_prefill = false;
  engine.max_num_batched_tokens = 50;
  const auto result = simulate(roomy_replica(engine, step_time), batch_of({{51, 1}, {50, 1}}), {});
  EXPECT_TRUE(result.requests[0].rejected);
  EXPECT_EQ(result.completed, 1);
}

TEST(Simulate, ProgressCanStopTheRun) {
  const FakeStepTime step_time(Seconds{1});
  std::int64_t seen_total = 0;
  const auto stop = [&](std::int64_t done, std::int64_t total) {
    seen_total = total;
    return done == 0;
  };
  const auto result = simulate(roomy_replica(plain_engine(), step_time),
                               batch_of({{10, 3}, {10, 100'000}}), {.progress = stop});
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(seen_total, 2);
  EXPECT_EQ(result.completed, 1);
  EXPECT_EQ(result.unfinished, 1);
  EXPECT_THAT(result.notes.back(), HasSubstr("1 request unfinished"));
}

TEST(Simulate, ARunThatPassesAHundredYearsIsRefused) {
  // 40 steps of 1e8 s: a hundred years are 3.15e9 s.
  const FakeStepTime step_time(Seconds{1e8});
  const Replica replica = roomy_replica(plain_engine(), step_time);
  EXPECT_THAT(
      [&] {
        simulate(replica, batch_of({{10, 40}}), {});
      },
      ThrowsMessage<Error>(HasSubstr("a hundred simulated years")));
  EXPECT_EQ(simulate(replica, batch_of({{10, 30}}), {}).completed, 1);
}

TEST(Simulate, AHalvedStepTimeIsNeverSlower) {
  // With arrivals at once and a constant batch, all times scale.
  const FakeStepTime slow(Seconds{0.02});
  const FakeStepTime fast(Seconds{0.01});
  const Workload workload = batch_of({{10, 30}, {40, 30}, {80, 30}});
  const auto slow_run = simulate(roomy_replica(plain_engine(), slow), workload, {});
  const auto fast_run = simulate(roomy_replica(plain_engine(), fast), workload, {});
  EXPECT_DOUBLE_EQ(slow_run.makespan.value, 0.6);
  EXPECT_DOUBLE_EQ(fast_run.makespan.value, 0.3);
}

TEST(Simulate, TheSameSeedGivesTheSameResultTwice) {
  const FakeStepTime step_time([](const StepBatch& batch) {
    return Seconds{0.01 + 1e-6 * static_cast<double>(batch.decode_attended[0])};
  });
  Engine engine = plain_engine();
  engine.max_num_seqs = 30;
  SyntheticWorkload spec = poisson(500, 8);
  spec.input = {LengthDistribution::Kind::lognormal, 200, 1};
  spec.output = {LengthDistribution::Kind::normal, 60, 30};
  const auto run = [&] {
    return simulate(replica_of(engine, step_time, 250, 16), generate(spec, 42), {});
  };
  const auto first = run();
  const auto second = run();
  ASSERT_GT(first.use.preemptions, 0);
  for (std::size_t i = 0; i < first.requests.size(); ++i) {
    const RequestRecord& a = first.requests[i];
    const RequestRecord& b = second.requests[i];
    EXPECT_EQ(std::tuple(a.scheduled, a.first_token, a.finished, a.preemptions, a.largest_gap),
              std::tuple(b.scheduled, b.first_token, b.finished, b.preemptions, b.largest_gap));
  }
  EXPECT_EQ(first.itl.mean, second.itl.mean);
  EXPECT_EQ(first.use.mean_kv_use, second.use.mean_kv_use);
}

}  // namespace
}  // namespace roofcast::test
