// Schedules worked out by hand, step by step (see schedule.hpp). Pages hold one token by default.
#include "simulator/engine/policy_sglang.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

/// Chunks of `chunk` tokens, no prefix cache, no overlap.
Engine sglang_engine(std::int64_t chunk) {
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::sglang;
  engine.max_num_batched_tokens = chunk;
  return engine;
}

Engine with_prefix_cache(std::int64_t chunk) {
  Engine engine = sglang_engine(chunk);
  engine.prefix_caching = true;
  return engine;
}

struct Prompt {
  std::vector<ContentSpan> contents;
  std::int64_t output = 1;
  Nanoseconds arrival = 0;
};

Workload prompts(const std::vector<Prompt>& list) {
  Workload workload;
  for (const Prompt& prompt : list) {
    Request request{.arrival = prompt.arrival,
                    .output_tokens = prompt.output,
                    .contents_begin = static_cast<std::uint32_t>(workload.contents.size()),
                    .contents_count = static_cast<std::uint32_t>(prompt.contents.size())};
    for (const ContentSpan& span : prompt.contents) request.input_tokens += span.tokens;
    workload.contents.insert(workload.contents.end(), prompt.contents.begin(),
                             prompt.contents.end());
    workload.requests.push_back(request);
  }
  return workload;
}

double ratio_of(const Schedule& schedule) {
  const auto& policy = dynamic_cast<const SglangPolicy&>(schedule.engine().policy());
  return policy.new_token_ratio(schedule.engine().state());
}

// ---- polling

/// A generates from 0 s on; B and C arrive at 1.5 and 2.5 s.
Workload arriving() {
  Workload workload = batch_of({{4, 8}, {4, 1}, {4, 1}});
  workload.requests[1].arrival = 3 * kSecond / 2;
  workload.requests[2].arrival = 5 * kSecond / 2;
  return workload;
}

TEST(SglangPolling, WhatArrivesIsTakenTogetherAtTheNextLook) {
  // Steps of 1 s. It looks at 0 s, after the prompt at 1 s, and three decodes later at 4 s.
  Engine engine = sglang_engine(100);
  EXPECT_THAT(Schedule(engine, 100, 1, arriving()).steps_to_end(),
              ElementsAre("A4", "A1", "B4", "C4", "A1", "A1", "A1", "A1", "A1", "A1"));
  engine.scheduler_recv_interval = 3;
  EXPECT_THAT(Schedule(engine, 100, 1, arriving()).steps_to_end(),
              ElementsAre("A4", "A1", "A1", "A1", "B4 C4", "A1", "A1", "A1", "A1"));
}

TEST(SglangPolling, WithOverlapItLooksAStepAhead) {
  // The step at 4 s is decided at 3 s, when B and C have arrived; with every step looked at, those
  // at 3 and 4 s are decided at 2 and 3 s.
  Engine engine = sglang_engine(100);
  engine.async_scheduling = true;
  EXPECT_THAT(Schedule(engine, 100, 1, arriving()).steps_to_end(),
              ElementsAre("A4", "A1", "A1", "B4", "C4", "A1", "A1", "A1", "A1", "A1"));
  engine.scheduler_recv_interval = 3;
  EXPECT_THAT(Schedule(engine, 100, 1, arriving()).steps_to_end(),
              ElementsAre("A4", "A1", "A1", "A1", "B4 C4", "A1", "A1", "A1", "A1"));
}

TEST(SglangPolling, AnIdleEngineLooksAtOnce) {
  // B arrives while A's last step runs, C when nothing does.
  Workload workload = arriving();
  workload.requests[0].output_tokens = 2;
  workload.requests[2].arrival = 9 * kSecond;
  for (const bool overlap : {false, true}) {
    Engine engine = sglang_engine(100);
    engine.scheduler_recv_interval = 30;
    engine.async_scheduling = overlap;
    const FakeStepTime step_time(Seconds{1});
    const SimulationResult result = simulate(replica_of(engine, step_time, 100, 1), workload, {});
    EXPECT_EQ(result.requests[1].first_token, 3 * kSecond);
    EXPECT_EQ(result.requests[2].first_token, 10 * kSecond);
  }
}

// ---- declared output

TEST(Sglang, ReservesWhatTheClientDeclares) {
  // Pool of 40 tokens. A and B: 4 in, 4 out. Declaring 4, each asks for 4 + 4 and a page of 1: B
  // finds 40 - 4 - 5 = 31 left. Declaring 20, B asks for 25 and finds 40 - 4 - 21 = 15; later at
  // most 40 - 7 - 0.7 x 17 = 21.1 (the initial new-token ratio is 0.7), so it starts after A.
  const Workload workload = batch_of({{4, 4}, {4, 4}});
  EXPECT_THAT(Schedule(sglang_engine(100), 40, 1, workload).steps_to_end(),
              ElementsAre("A4 B4", "A1 B1", "A1 B1", "A1 B1"));
  EXPECT_THAT(Schedule(sglang_engine(100), 40, 1, declaring(workload, 20)).steps_to_end(),
              ElementsAre("A4", "A1", "A1", "A1", "B4", "B1", "B1", "B1"));
}

TEST(Sglang, WithoutADeclaredLimitReservesAtMost4096) {
  // A and B: 4 in, 4 out, of a context without a limit: each asks for 4 + 4096 and a page of 1.
  // The pool's tokens left must be more: 4101 + (4 + 1 + 4096) + 1 = 8203 admit both at once.
  const Workload workload = declaring(batch_of({{4, 4}, {4, 4}}), kNoMaxTokens);
  EXPECT_THAT(Schedule(sglang_engine(100), 8203, 1, workload).step(), "A4 B4");
  EXPECT_THAT(Schedule(sglang_engine(100), 8202, 1, workload).step(), "A4");
}

TEST(Sglang, APoolSmallerThanTheContextLowersTheLimit) {
  // A declares nothing; the pool of 40 leaves 34 of output: 4 + 34 and a page of 1 are under 40.
  const Workload workload = declaring(batch_of({{4, 4}}), kNoMaxTokens);
  EXPECT_THAT(Schedule(sglang_engine(100), 40, 1, workload).step(), "A4");
}

// ---- prefixes in host memory

/// C repeats A's prompt of 16 tokens, which B has evicted from a pool of 20.
Workload repeating() {
  return prompts({{{{1, 16}}, 1}, {{{2, 16}}, 1, 5 * kSecond}, {{{1, 16}}, 1, 10 * kSecond}});
}

Engine with_host_cache(double ratio, double bytes_per_second) {
  Engine engine = with_prefix_cache(100);
  engine.hierarchical_cache = {.ratio = ratio,
                               .size = {},
                               .bandwidth = BytesPerSecond{bytes_per_second},
                               .latency = Seconds{}};
  return engine;
}

std::vector<std::string> steps_of(const Engine& engine) {
  Schedule schedule(engine, 20, 1, repeating());
  std::vector<std::string> steps;
  for (int i = 0; i < 11; ++i) {
    if (std::string step = schedule.step_or_idle(); !step.empty()) steps.push_back(step);
  }
  return steps;
}

TEST(SglangHostCache, LoadsWhatTheGpuHasEvicted) {
  // All but C's last token is loaded: 15 tokens.
  EXPECT_THAT(steps_of(with_prefix_cache(100)), ElementsAre("A16", "B16", "C16"));
  EXPECT_THAT(steps_of(with_host_cache(2.0, 100)), ElementsAre("A16", "B16", "C1"));
}

TEST(SglangHostCache, HoldsAMultipleOfTheKvCache) {
  // 0.8 x 20 tokens hold the latest prompt alone, 1.6 x 20 both; 32 bytes both, 31 one.
  EXPECT_THAT(steps_of(with_host_cache(0.8, 100)), ElementsAre("A16", "B16", "C16"));
  EXPECT_THAT(steps_of(with_host_cache(1.6, 100)), ElementsAre("A16", "B16", "C1"));
  Engine engine = with_host_cache(2.0, 100);
  engine.hierarchical_cache.size = Bytes{32};
  EXPECT_THAT(steps_of(engine), ElementsAre("A16", "B16", "C1"));
  engine.hierarchical_cache.size = Bytes{31};
  EXPECT_THAT(steps_of(engine), ElementsAre("A16", "B16", "C16"));
}

TEST(SglangHostCache, LoadsBehindTheStepThatWaitsForThem) {
  // 15 tokens of a byte: 3 s at 5 bytes/s, longer than a step of 1 s, and 0.15 s at 100.
  const FakeStepTime step_time(Seconds{1});
  const auto first_token = [&](double bytes_per_second) {
    const SimulationResult result = simulate(
        replica_of(with_host_cache(2.0, bytes_per_second), step_time, 20, 1), repeating(), {});
    return result.requests[2].first_token;
  };
  EXPECT_EQ(first_token(5), 13 * kSecond);
  EXPECT_EQ(first_token(100), 11 * kSecond);
}

// ---- a pool for windows

/// Windows of 4 tokens in a pool that is half as large as the other layers'.
CacheLayout with_windows() {
  CacheLayout layout = uniform_layout(1);
  layout.pooled_window = 4;
  layout.pooled_share = 0.5;
  return layout;
}

TEST(SglangWindows, BoundWhatStarts) {
  // 40 and 20 tokens. Each of 4 in, 3 out asks for 4 + 3 and a page of 1 of the first pool, which
  // has 40, 32, 24, 16 left, and for a window of 4 and a page of the second: 20, 15, 10, and the 5
  // that are left are not more than D asks for.
  const Workload workload = batch_of({{4, 3}, {4, 3}, {4, 3}, {4, 3}});
  EXPECT_THAT(Schedule(sglang_engine(100), 40, 1, workload).step(), "A4 B4 C4 D4");
  EXPECT_THAT(Schedule(sglang_engine(100), 40, with_windows(), workload).steps_to_end(),
              ElementsAre("A4 B4 C4", "A1 B1 C1", "A1 B1 C1", "D4", "D1", "D1"));
}

TEST(SglangWindows, RunOutAndRetract) {
  // Tokens that have left a window are released 128 at a time. A, B and C hold 18 of 20 tokens
  // after two decodes, the third needs 3 more: C starts over with 4 + 3 tokens.
  const Workload workload = batch_of({{4, 4}, {4, 4}, {4, 4}});
  EXPECT_THAT(Schedule(sglang_engine(100), 40, with_windows(), workload).steps_to_end(),
              ElementsAre("A4 B4 C4", "A1 B1 C1", "A1 B1 C1", "A1 B1 -C", "C7"));
}

TEST(SglangWindows, OfPromptsInTheTreeKeepAWindowOnly) {
  // B asks for 8 - 4 + 4 + 1 = 9 of 20 tokens at 2 s. A's prompt is in the tree then, a window of
  // which and a token are held: 15 are left. Without a tree A holds 17 until it ends.
  const Workload workload = prompts({{{{1, 16}}, 4}, {{{2, 8}}, 1, 3 * kSecond / 2}});
  EXPECT_THAT(Schedule(with_prefix_cache(100), 40, with_windows(), workload).steps_to_end(),
              ElementsAre("A16", "A1", "B8", "A1", "A1"));
  EXPECT_THAT(Schedule(sglang_engine(100), 40, with_windows(), workload).steps_to_end(),
              ElementsAre("A16", "A1", "A1", "A1", "B8"));
}

// ---- prefill first

TEST(Sglang, DecodesPauseWhileAPromptIsComputed) {
  // A: 4 in, 4 out; B: 6 in, 2 out, at 2 s. B's prompt has step 3 to itself: A's third token comes
  // two seconds after its second.
  Workload workload = batch_of({{4, 4}, {6, 2}});
  workload.requests[1].arrival = 2 * kSecond;
  Schedule schedule(sglang_engine(100), 1000, 1, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1", "B6", "A1 B1", "A1"));
  EXPECT_EQ(schedule[0].largest_gap, 2 * kSecond);
}

TEST(Sglang, WithMixedChunksDecodesGoAlong) {
  Workload workload = batch_of({{4, 4}, {6, 2}});
  workload.requests[1].arrival = 2 * kSecond;
  Engine engine = sglang_engine(100);
  engine.enable_mixed_chunk = true;
  Schedule schedule(engine, 1000, 1, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1", "B6 A1", "A1 B1"));
  EXPECT_EQ(schedule[0].largest_gap, 1 * kSecond);
}

TEST(Sglang, MixedDecodesCountAgainstTheChunk) {
  // Chunks of 5. From step 2 on A's decode leaves 4 tokens of each for B's prompt of 9.
  Workload workload = batch_of({{4, 5}, {9, 1}});
  workload.requests[1].arrival = 1 * kSecond;
  Engine engine = sglang_engine(5);
  engine.enable_mixed_chunk = true;
  Schedule schedule(engine, 1000, 1, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "B4 A1", "B4 A1", "B1 A1", "A1"));
}

TEST(Sglang, TheOverlapScheduleSeesAnArrivalAStepLater) {
  // B arrives at 1 s, when step 2 begins. With overlap step 2 was decided at 0 s.
  Workload workload = batch_of({{4, 5}, {4, 1}});
  workload.requests[1].arrival = 1 * kSecond;
  Engine engine = sglang_engine(100);
  Schedule in_turn(engine, 1000, 1, workload);
  EXPECT_THAT(in_turn.steps_to_end(), ElementsAre("A4", "B4", "A1", "A1", "A1", "A1"));
  engine.async_scheduling = true;
  Schedule overlap(engine, 1000, 1, workload);
  EXPECT_THAT(overlap.steps_to_end(), ElementsAre("A4", "A1", "B4", "A1", "A1", "A1"));
}

// ---- chunks and budgets

TEST(Sglang, ACutPromptGoesOnFirstAndOthersFillItsLastChunk) {
  // Chunks of 10. A's 25 tokens take 10, 10 and 5; B's 3 join the last. B's one token is its last.
  Schedule schedule(sglang_engine(10), 1000, 1, batch_of({{25, 2}, {3, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10", "A10", "A5 B3", "A1"));
}

TEST(Sglang, ACutPromptKeepsDecodesWaiting) {
  // A's prompt leaves 4 tokens of the first chunk to B, whose 25 tokens take 4, 10, 10 and 1. A
  // decodes after all of them.
  Schedule schedule(sglang_engine(10), 1000, 1, batch_of({{6, 2}, {25, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A6 B4", "B10", "B10", "B1", "A1"));
  EXPECT_EQ(schedule[0].largest_gap, 4 * kSecond);
}

TEST(Sglang, PromptsAreChargedAndCutByWholePages) {
  // Pages of 4, chunks of 12. A's 5 tokens count as 8; of B's 9 the 4 that are left are taken, then
  // 5. C's 7 would count as 8, and after B's 5, which count as 8, 4 are left.
  Schedule schedule(sglang_engine(12), 1000, 4, batch_of({{5, 1}, {9, 1}, {7, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A5 B4", "B5 C4", "C3"));
}

TEST(Sglang, UncutPromptsShareMaxPrefillTokensAndTheFirstMayExceedThem) {
  // 10 tokens a batch. A takes 4, B's 5 are fewer than the 6 left, C's 3 are not fewer than 1. D's
  // 15 are more than 10, but D is the first of its batch.
  Engine engine = sglang_engine(100);
  engine.chunked_prefill = false;
  engine.max_prefill_tokens = 10;
  Schedule schedule(engine, 1000, 1, batch_of({{4, 1}, {5, 1}, {3, 1}, {15, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B5", "C3", "D15"));
  // 6 are not fewer than the 6 left.
  Schedule exact(engine, 1000, 1, batch_of({{4, 1}, {6, 1}}));
  EXPECT_THAT(exact.steps_to_end(), ElementsAre("A4", "B6"));
}

TEST(Sglang, MaxRunningRequestsBoundsThoseThatRun) {
  // B ends with its prompt, so C takes its place, ahead of A's decode.
  Engine engine = sglang_engine(100);
  engine.max_num_seqs = 2;
  Schedule schedule(engine, 1000, 1, batch_of({{4, 2}, {4, 1}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B4", "C4", "A1"));
}

// ---- admission by the expected growth

TEST(Sglang, AdmissionReservesAShareOfWhatRunningRequestsMayStillGenerate) {
  // A pool of 100 tokens. A: 10 in, 60 out. At 1 s its 10 are used and 59 of its output are left,
  // of which 0.7 are reserved: 90 - 41.3 = 48.7. B needs its 10, its output and a page: with 37 out
  // 48, it starts; with 38 out 49, it waits until A has left after 60 steps.
  for (const auto& [output, start] : {std::pair{37, 1}, std::pair{38, 60}}) {
    Workload workload = batch_of({{10, 60}, {10, output}});
    workload.requests[1].arrival = 1 * kSecond;
    Schedule schedule(sglang_engine(100), 100, 1, workload);
    schedule.steps_to_end();
    EXPECT_EQ(schedule[1].scheduled, start * kSecond) << output;
  }
}

TEST(Sglang, ConservativenessScalesTheReservation) {
  // As above; half of 0.7 reserves 20.65: 69.35 are left, enough for 10 + 58 + 1 = 69.
  for (const auto& [output, start] : {std::pair{58, 1}, std::pair{59, 60}}) {
    Workload workload = batch_of({{10, 60}, {10, output}});
    workload.requests[1].arrival = 1 * kSecond;
    Engine engine = sglang_engine(100);
    engine.schedule_conservativeness = 0.5;
    Schedule schedule(engine, 100, 1, workload);
    schedule.steps_to_end();
    EXPECT_EQ(schedule[1].scheduled, start * kSecond) << output;
  }
}

TEST(Sglang, RequestsOfOneBatchReserveTheirWholeOutput) {
  // A pool of 100. A: 10 in, 60 out: 61 are reserved beside its 10, 29 are left. B needs 10 + 17 +
  // 1 = 28, fewer; with 18 out 29, not fewer.
  Schedule fits(sglang_engine(100), 100, 1, batch_of({{10, 60}, {10, 17}}));
  EXPECT_EQ(fits.step(), "A10 B10");
  Schedule waits(sglang_engine(100), 100, 1, batch_of({{10, 60}, {10, 18}}));
  EXPECT_EQ(waits.step(), "A10");
}

TEST(Sglang, OutputIsReservedBeforeItIsGeneratedUpTo4096Tokens) {
  // A pool of 12,000. A: 10 in, 9,000 out reserves 4,096: 12,000 - 10 - 4,097 = 7,893 are left. B
  // needs 10 + 4,096 + 1, whatever it may generate.
  Schedule schedule(sglang_engine(100), 12'000, 1, batch_of({{10, 9000}, {10, 9000}}));
  EXPECT_EQ(schedule.step(), "A10 B10");
}

TEST(Sglang, TheLastChunkReservesTheOutput) {
  // A pool of 100, chunks of 20. A: 30 in, 20 out. Its last chunk leaves 10 tokens of the step, and
  // of the pool 100 - 30 - 21 = 49. B needs 10 + 37 + 1 = 48; with 38 out 49, not fewer.
  Schedule fits(sglang_engine(20), 100, 1, batch_of({{30, 20}, {10, 37}}));
  EXPECT_EQ(fits.step(), "A20");
  EXPECT_EQ(fits.step(), "A10 B10");
  Schedule waits(sglang_engine(20), 100, 1, batch_of({{30, 20}, {10, 38}}));
  EXPECT_EQ(waits.step(), "A20");
  EXPECT_EQ(waits.step(), "A10");
}

TEST(Sglang, WhatCanNeverBeAdmittedIsRejected) {
  // A pool of 20: prompt and output and a page must be fewer.
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = replica_of(sglang_engine(100), step_time, 20, 1);
  const auto result = simulate(replica, batch_of({{10, 8}, {10, 9}}), {});
  EXPECT_EQ(result.completed, 1);
  EXPECT_TRUE(result.requests[1].rejected);
}

// ---- retraction

/// A pool of 130 tokens; A: 5 in, 100 out, B: 6 in, 90 out, at 1 s; ratio 0.07.
/// 2: 99 of A's output are left, 6.93 of 125 reserved; B needs 97. 11 tokens are used.
/// 3 to 61: 59 decodes of both, 118 tokens, 129 used; both have generated 60.
/// 62: one token is free. Both have generated the same, B's prompt is longer: B is retracted with
///    65 tokens.
Workload retraction() {
  Workload workload = batch_of({{5, 100}, {6, 90}});
  workload.requests[1].arrival = 1 * kSecond;
  return workload;
}

Engine optimistic(bool prefix_cache) {
  Engine engine = sglang_engine(100);
  engine.schedule_conservativeness = 0.1;
  engine.prefix_caching = prefix_cache;
  return engine;
}

TEST(Sglang, TheOneThatHasGeneratedLeastIsRetractedAndTheRatioSetAnew) {
  Schedule schedule(optimistic(false), 130, 1, retraction());
  EXPECT_EQ(schedule.step(), "A5");
  EXPECT_EQ(schedule.step(), "B6");
  for (int i = 0; i < 59; ++i) ASSERT_EQ(schedule.step(), "A1 B1") << i;
  EXPECT_EQ(schedule.used_blocks(), 129);
  // (0.07 - 0.0098) / 600 less after each decode step.
  EXPECT_NEAR(ratio_of(schedule), 0.07 - 59 * 0.0602 / 600, 1e-12);
  EXPECT_EQ(schedule.step(), "A1 -B");
  EXPECT_EQ(schedule.engine().counters().recomputed_tokens, 65);
  // A had 60 of its 100 tokens, and is thought to go on for 20.
  EXPECT_NEAR(ratio_of(schedule), 80.0 / 101.0, 1e-12);
  // B needs 66 + 30 + 1; 65 are free, and A's output reserves more of them. It waits until A has
  // ended: 61 tokens at 62 s, 100 at 101 s. Then its prompt and its 60 tokens are recomputed.
  for (int i = 0; i < 39; ++i) ASSERT_EQ(schedule.step(), "A1") << i;
  EXPECT_EQ(schedule[0].finished, 101 * kSecond);
  EXPECT_EQ(schedule.step(), "B66");
  for (int i = 0; i < 29; ++i) ASSERT_EQ(schedule.step(), "B1") << i;
  EXPECT_EQ(schedule.step(), "");
  EXPECT_EQ(schedule[1].finished, 131 * kSecond);
  EXPECT_EQ(schedule[1].preemptions, 1);
  // Nothing runs or waits: the ratio starts again.
  EXPECT_DOUBLE_EQ(ratio_of(schedule), 0.07);
}

TEST(Sglang, ARetractedRequestFindsItsPromptAgain) {
  // As above. B's prompt is in the prefix cache since it was computed, its output is not: of its 66
  // tokens 60 are computed again.
  Schedule schedule(optimistic(true), 130, 1, retraction());
  for (int i = 0; i < 101; ++i) schedule.step();
  EXPECT_EQ(schedule[0].finished, 101 * kSecond);
  EXPECT_EQ(schedule.step(), "B60");
  EXPECT_EQ(schedule.engine().counters().prefix_hits, 6);
}

TEST(Sglang, RetractedRequestsQueueBehindAllOthers) {
  // As above, with C: 50 in, 3 out, at 61 s, just before B is retracted.
  // 62: one token is free, C needs 54.
  // 63: 65 are free, 39 of A's output are left, of which 80 / 101 are reserved: 34.1. C waits, and
  // B
  //    behind it, until A has ended. 102: C, and not B, which would need 97 more.
  Workload workload = retraction();
  workload.requests.push_back({.arrival = 61 * kSecond, .input_tokens = 50, .output_tokens = 3});
  Schedule schedule(optimistic(false), 130, 1, workload);
  for (int i = 0; i < 61; ++i) schedule.step();
  EXPECT_EQ(schedule.step(), "A1 -B");
  for (int i = 0; i < 39; ++i) ASSERT_EQ(schedule.step(), "A1") << i;
  EXPECT_EQ(schedule.step(), "C50");
}

// ---- prefixes

TEST(Sglang, TheSecondPromptComputesWhatItDoesNotShare) {
  // 1,000 tokens in common, 200 and 500 of their own.
  const Workload workload =
      prompts({{{{1, 1000}, {2, 200}}}, {{{1, 1000}, {3, 500}}, 1, 1 * kSecond}});
  Schedule schedule(with_prefix_cache(10'000), 5000, 1, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A1200", "B500"));
  EXPECT_EQ(schedule[1].cached_tokens, 1000);
  EXPECT_EQ(schedule.engine().counters().prefix_queries, 1200 + 1500);
  EXPECT_EQ(schedule.engine().counters().prefix_hits, 1000);
  // Pages of 16 are shared whole: 62 of them, 992 tokens.
  Schedule paged(with_prefix_cache(1600), 5000, 16, workload);
  EXPECT_THAT(paged.steps_to_end(), ElementsAre("A1200", "B508"));
}

TEST(Sglang, TheLastTokenOfAPromptIsAlwaysComputed) {
  const Workload twice = prompts({{{{1, 96}}}, {{{1, 96}}, 1, 1 * kSecond}});
  Schedule schedule(with_prefix_cache(1000), 5000, 1, twice);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A96", "B1"));
  // Pages of 16: 96 tokens are 6, of which 5 end before the last token.
  Schedule paged(with_prefix_cache(1600), 5000, 16, twice);
  EXPECT_THAT(paged.steps_to_end(), ElementsAre("A96", "B16"));
}

TEST(Sglang, PromptsOfOneBatchDoNotShareAndTheCopyIsGivenBackAfterIt) {
  // Two equal prompts of 100, 2 out. Both are computed: 200 tokens used. Then the second's are
  // found to be there: 100 and a decoded token of each.
  const Workload twice = prompts({{{{1, 100}}, 2}, {{{1, 100}}, 2}});
  Schedule schedule(with_prefix_cache(1000), 5000, 1, twice);
  EXPECT_EQ(schedule.step(), "A100 B100");
  EXPECT_EQ(schedule.used_blocks(), 200);
  EXPECT_EQ(schedule.step(), "A1 B1");
  EXPECT_EQ(schedule.used_blocks(), 102);
}

TEST(Sglang, TheNextBatchSharesUnlessItIsDecidedBeforeThePromptIsComputed) {
  // Chunks of 100: the prompts have a batch each. With overlap B's is decided while A's runs.
  const Workload twice = prompts({{{{1, 100}}}, {{{1, 100}}}});
  Engine engine = with_prefix_cache(100);
  Schedule in_turn(engine, 5000, 1, twice);
  EXPECT_THAT(in_turn.steps_to_end(), ElementsAre("A100", "B1"));
  engine.async_scheduling = true;
  Schedule overlap(engine, 5000, 1, twice);
  EXPECT_THAT(overlap.steps_to_end(), ElementsAre("A100", "B100"));
}

TEST(Sglang, TheNextTurnFindsThePromptAndTheOutput) {
  // 30 in, 5 out; the last of the 5 was never computed on. The next turn's 50 begin with all 35.
  Workload workload = prompts({{{{1, 30}}, 5}, {{{1, 35}, {2, 15}}, 1, 10 * kSecond}});
  workload.requests[0].output_continues_prompt = true;
  const FakeStepTime step_time(Seconds{1});
  const auto result =
      simulate(replica_of(with_prefix_cache(1000), step_time, 5000, 1), workload, {});
  EXPECT_EQ(result.requests[1].cached_tokens, 34);
}

TEST(Sglang, TheLeastRecentlyUsedPrefixIsEvictedFirst) {
  // A pool of 30, one token out each. After A, B and C (A's prompt again) 20 tokens are resident,
  // B's used longest ago. D takes 20 of 30: B's 10 go. A's are found by E, B's not by F.
  const Workload workload = prompts({{{{1, 10}}, 1, 0},
                                     {{{2, 10}}, 1, 1 * kSecond},
                                     {{{1, 10}}, 1, 2 * kSecond},
                                     {{{3, 20}}, 1, 3 * kSecond},
                                     {{{1, 10}}, 1, 4 * kSecond},
                                     {{{2, 10}}, 1, 5 * kSecond}});
  Schedule schedule(with_prefix_cache(1000), 30, 1, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10", "B10", "C1", "D20", "E1", "F10"));
}

TEST(Sglang, CachedTokensOfAMatchDoNotCountAsFreeAtAdmission) {
  // A pool of 100. A's 60 tokens are resident and B's 5 used; 19 of B's output are left, 13.3 of
  // them reserved. C repeats 50 of A's: 95 - 13.3 - 50 = 31.7 are left. It computes 10 more: with
  // 20 out and a page it needs 31 and starts, with 21 out 32, and B decodes.
  for (const auto& [output, third] : {std::pair{20, "C10"}, std::pair{21, "B1"}}) {
    const Workload workload = prompts(
        {{{{1, 60}}}, {{{7, 5}}, 20, 1 * kSecond}, {{{1, 50}, {2, 10}}, output, 2 * kSecond}});
    Schedule schedule(with_prefix_cache(1000), 100, 1, workload);
    EXPECT_EQ(schedule.step(), "A60");
    EXPECT_EQ(schedule.step(), "B5");
    EXPECT_EQ(schedule.step(), third) << output;
  }
}

// ---- order of the queue

TEST(Sglang, LongestPrefixFirst) {
  // A's 100 tokens are cached when B (nothing cached) and C (100) come together.
  const Workload workload =
      prompts({{{{1, 100}}}, {{{2, 50}}, 1, 1 * kSecond}, {{{1, 100}, {3, 10}}, 1, 1 * kSecond}});
  Engine engine = with_prefix_cache(1000);
  engine.order = QueueOrder::longest_prefix;
  Schedule schedule(engine, 5000, 1, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A100", "C10 B50"));
}

TEST(Sglang, RequestsThatBeginAlikeWaitForTheFirstOfThem) {
  // Chunks of 150. B shares 100 tokens with A and is put last: A and C fill the first batch, and B
  // then computes its own 10. First come first served computes B's 100 again.
  const Workload workload = prompts({{{{5, 100}, {1, 10}}}, {{{5, 100}, {2, 10}}}, {{{6, 40}}}});
  Engine engine = with_prefix_cache(150);
  engine.order = QueueOrder::longest_prefix;
  Schedule by_prefix(engine, 5000, 1, workload);
  EXPECT_THAT(by_prefix.steps_to_end(), ElementsAre("A110 C40", "B10"));
  engine.order = QueueOrder::fcfs;
  Schedule in_order(engine, 5000, 1, workload);
  EXPECT_THAT(in_order.steps_to_end(), ElementsAre("A110 B40", "B70 C40"));
}

TEST(Sglang, PrefixesDoNotOrderMoreThan128Waiting) {
  // One runs at a time, for a second. After a prompt of 100 many of 1 token come, and last the
  // first again: of 128 it is served first. Of 129 the first in the queue is, and then it.
  for (const auto& [waiting, start] : {std::pair{128, 1}, std::pair{129, 2}}) {
    std::vector<Prompt> list{{{{1, 100}}}};
    for (int i = 1; i < waiting; ++i) {
      list.push_back({{{static_cast<std::uint64_t>(i) + 1, 1}}, 1, 1 * kSecond});
    }
    list.push_back({{{1, 100}}, 1, 1 * kSecond});
    Engine engine = with_prefix_cache(1000);
    engine.order = QueueOrder::longest_prefix;
    engine.max_num_seqs = 1;
    const FakeStepTime step_time(Seconds{1});
    const auto result = simulate(replica_of(engine, step_time, 5000, 1), prompts(list), {});
    EXPECT_EQ(result.requests.back().scheduled, start * kSecond) << waiting;
  }
}

TEST(Sglang, LongestOutputFirst) {
  Engine engine = sglang_engine(100);
  engine.order = QueueOrder::longest_output;
  engine.max_num_seqs = 1;
  Schedule schedule(engine, 1000, 1, batch_of({{4, 1}, {4, 3}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("B4", "B1", "B1", "A4"));
}

}  // namespace
}  // namespace roofcast::test
