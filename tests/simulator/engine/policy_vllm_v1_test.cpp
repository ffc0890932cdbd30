// Schedules worked out by hand, step by step (schedule.hpp).
#include <gmock/gmock.h>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Engine with_budget(std::int64_t tokens) {
  Engine engine = plain_engine();
  engine.max_num_batched_tokens = tokens;
  return engine;
}

TEST(VllmV1, ALongPromptSoaksUpTheBudgetThatDecodesLeave) {
  // Budget 10. A (4 in, 5 out) and B (25 in, 2 out): A's decodes come first, one token a step; B
  // gets 6, 9, 9 and its last token.
  Schedule schedule(with_budget(10), 100, 16, batch_of({{4, 5}, {25, 2}}));
  EXPECT_EQ(schedule.step(), "A4 B6");
  EXPECT_EQ(schedule.step(), "A1 B9");
  EXPECT_EQ(schedule.step(), "A1 B9");
  EXPECT_EQ(schedule.step(), "A1 B1");
  ASSERT_EQ(schedule.chunks().size(), 1u);
  EXPECT_EQ(schedule.chunks()[0].context_tokens, 24);
  EXPECT_TRUE(schedule.chunks()[0].emits_token);
  EXPECT_EQ(schedule.step(), "A1 B1");
  EXPECT_EQ(schedule.step(), "");
  EXPECT_EQ(schedule[0].first_token, 1 * kSecond);
  EXPECT_EQ(schedule[0].finished, 5 * kSecond);
  EXPECT_EQ(schedule[1].first_token, 4 * kSecond);
  EXPECT_EQ(schedule[1].finished, 5 * kSecond);
}

TEST(VllmV1, OnlyTheLastChunkOfAPromptEmitsAToken) {
  Schedule schedule(with_budget(10), 100, 16, batch_of({{25, 1}}));
  EXPECT_EQ(schedule.step(), "A10");
  EXPECT_FALSE(schedule.chunks()[0].emits_token);
  EXPECT_EQ(schedule.step(), "A10");
  EXPECT_FALSE(schedule.chunks()[0].emits_token);
  EXPECT_EQ(schedule.step(), "A5");
  EXPECT_TRUE(schedule.chunks()[0].emits_token);
  EXPECT_EQ(schedule[0].first_token, 3 * kSecond);
}

TEST(VllmV1, SeveralPromptsShareAStep) {
  Schedule schedule(with_budget(10), 100, 16, batch_of({{3, 1}, {3, 1}, {3, 1}, {3, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A3 B3 C3 D1", "D2"));
}

TEST(VllmV1, WithoutChunkedPrefillAPromptThatExceedsTheBudgetBlocksThoseBehind) {
  // Budget 10. Step 1: A takes 4, B's 8 exceed the 6 left, and C's 3 may not overtake. Step 2: A
  // decodes, B takes 8 of 9, C waits. Step 3: two decodes, C.
  Engine engine = with_budget(10);
  engine.chunked_prefill = false;
  Schedule schedule(engine, 100, 16, batch_of({{4, 3}, {8, 2}, {3, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1 B8", "A1 B1 C3"));
}

TEST(VllmV1, LongPrefillThresholdCapsEveryChunk) {
  Engine engine = with_budget(100);
  engine.long_prefill_token_threshold = 3;
  Schedule schedule(engine, 100, 16, batch_of({{8, 2}, {2, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A3 B2", "A3", "A2", "A1"));
}

TEST(VllmV1, MaxNumSeqsBoundsTheRunningRequests) {
  Engine engine = plain_engine();
  engine.max_num_seqs = 2;
  Schedule schedule(engine, 100, 16, batch_of({{4, 2}, {4, 1}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B4", "A1 C4"));
}

TEST(VllmV1, TheNewestRequestIsPreemptedAndComputedAgain) {
  // Blocks of 4 tokens, 5 usable. A and B: 8 in, 6 out.
  // 1: both prompts, 2 blocks each, 1 free.       A and B have 1 token
  // 2: A's 9th token takes the last block; B finds none and, being the newest, gives up its own.
  // 3 to 6: A decodes to its 6th token (13 cached tokens, 4 blocks); B's 9 tokens need 3 blocks,
  //    2 (then 1) are free.
  // 7: B's 9 tokens are computed again and give its 2nd token. 8 to 11: its 3rd to 6th.
  Schedule schedule(plain_engine(), 5, 4, batch_of({{8, 6}, {8, 6}}));
  EXPECT_EQ(schedule.step(), "A8 B8");
  EXPECT_EQ(schedule.used_blocks(), 4);
  EXPECT_EQ(schedule.step(), "A1 -B");
  EXPECT_EQ(schedule.used_blocks(), 3);
  EXPECT_THAT(schedule.steps_to_end(),
              ElementsAre("A1", "A1", "A1", "A1", "B9", "B1", "B1", "B1", "B1"));
  EXPECT_EQ(schedule[0].finished, 6 * kSecond);
  EXPECT_EQ(schedule[0].preemptions, 0);
  EXPECT_EQ(schedule[1].scheduled, 0);
  EXPECT_EQ(schedule[1].first_token, 1 * kSecond);
  EXPECT_EQ(schedule[1].finished, 11 * kSecond);
  EXPECT_EQ(schedule[1].preemptions, 1);
  EXPECT_EQ(schedule[1].largest_gap, 6 * kSecond);  // its 1st token at 1 s, its 2nd at 7 s
  EXPECT_EQ(schedule.engine().counters().recomputed_tokens, 8);
  // Computed: prompts 16, B again 9; decodes: A 5, B 4.
  EXPECT_EQ(schedule.engine().counters().prefill_tokens, 25);
  EXPECT_EQ(schedule.engine().counters().decode_tokens, 9);
}

TEST(VllmV1, AVictimReturnsToTheFrontAndNothingIsAdmittedInThatStep) {
  // Blocks of 4, 4 usable, 2 sequences at most. A: 8 in, 5 out; B: 7 in, 2 out; C: 4 in, 1 out.
  // 1: A and B, 2 blocks each; C finds no place.
  // 2: A's 9th token needs a block: B is preempted. C would fit (1 block free) but the step
  //    preempted, so no request is admitted.
  // 3: B is at the head; its 8 tokens need 2 blocks, 1 is free; C may not overtake.
  // 4, 5: the same; A ends with 12 cached tokens.
  // 6: B and C.
  Engine engine = plain_engine();
  engine.max_num_seqs = 2;
  Schedule schedule(engine, 4, 4, batch_of({{8, 5}, {7, 2}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8 B7", "A1 -B", "A1", "A1", "A1", "B8 C4"));
}

TEST(VllmV1, SeveralVictimsReturnInTheirOldOrder) {
  // Blocks of 4, 5 usable. A: 8 in, 3 out (2 blocks); B: 4 in, 3 out; C, D: 4 in, 2 out (1 each).
  // 2: A's 9th token preempts D, B's 5th preempts C. 3: A and B end with 3 and 2 blocks, none free.
  // 4: C before D, 5 tokens each, 2 blocks each.
  Schedule schedule(plain_engine(), 5, 4, batch_of({{8, 3}, {4, 3}, {4, 2}, {4, 2}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8 B4 C4 D4", "A1 B1 -D -C", "A1 B1", "C5 D5"));
}

TEST(VllmV1, FirstChunkAdmissionStartsWhatFullSequenceAdmissionHoldsBack) {
  // Blocks of 4, 3 usable, budget 4. A: 4 in, 3 out; B: 12 in, 1 out.
  // First chunk only: 2: A's 5th token takes a 2nd block; B's chunk of 3 fits the last one.
  //   3: B's next 3 tokens need a 2nd block: it preempts itself, its 3 tokens lost. 4 to 6: B
  //   again.
  // Whole sequence: B needs 3 blocks and waits until A has ended, after step 3.
  const Workload workload = batch_of({{4, 3}, {12, 1}});
  Engine engine = with_budget(4);
  engine.reserve_full_sequence = false;
  Schedule first_chunk(engine, 3, 4, workload);
  EXPECT_THAT(first_chunk.steps_to_end(), ElementsAre("A4", "A1 B3", "A1 -B", "B4", "B4", "B4"));
  EXPECT_EQ(first_chunk.engine().counters().recomputed_tokens, 3);

  engine.reserve_full_sequence = true;
  Schedule full_sequence(engine, 3, 4, workload);
  EXPECT_THAT(full_sequence.steps_to_end(), ElementsAre("A4", "A1", "A1", "B4", "B4", "B4"));
  EXPECT_EQ(full_sequence.engine().counters().recomputed_tokens, 0);
}

TEST(VllmV1, WatermarkKeepsBlocksFreeOnlyWhileSomethingRuns) {
  // Blocks of 4, 9 usable of 10 ids; 20 % of 10 are 2 blocks. A: 31 in, 2 out takes 8 of 9 though
  // only 1 stays free: nothing runs yet. B (4 in, 1 out) needs 1 block and 2 free beside it, so it
  // waits until A ends. Without the watermark it starts beside A.
  const Workload workload = batch_of({{31, 2}, {4, 1}});
  Engine engine = plain_engine();
  engine.watermark = 0.2;
  Schedule kept(engine, 9, 4, workload);
  EXPECT_THAT(kept.steps_to_end(), ElementsAre("A31", "A1", "B4"));
  engine.watermark = 0.0;
  Schedule free(engine, 9, 4, workload);
  EXPECT_THAT(free.steps_to_end(), ElementsAre("A31 B4", "A1"));
}

TEST(VllmV1, PriorityDecidesWhoWaitsAndWhoIsPreempted) {
  // Smaller first. One place: C (priority 0) before A and B (1), those in order of arrival.
  Workload workload = batch_of({{4, 1}, {4, 1}, {4, 1}});
  workload.requests[0].priority = workload.requests[1].priority = 1;
  Engine engine = plain_engine();
  engine.order = QueueOrder::priority;
  engine.max_num_seqs = 1;
  Schedule one_place(engine, 100, 4, workload);
  EXPECT_THAT(one_place.steps_to_end(), ElementsAre("C4", "A4", "B4"));
}

TEST(VllmV1, TheWorstPriorityIsPreemptedEvenWhenItIsOlder) {
  // Blocks of 4, 5 usable. A (priority 5; 7 in, 4 out) and B (priority 1; 12 in, 3 out). B is first
  // in the queue. 2: B's 13th token needs a 4th block, A gives its 2. 4: B has ended.
  Workload workload = batch_of({{7, 4}, {12, 3}});
  workload.requests[0].priority = 5;
  workload.requests[1].priority = 1;
  Engine engine = plain_engine();
  engine.order = QueueOrder::priority;
  Schedule schedule(engine, 5, 4, workload);
  EXPECT_EQ(schedule.step(), "B12 A7");
  EXPECT_EQ(schedule.step(), "B1 -A");
  EXPECT_EQ(schedule.step(), "B1");
  EXPECT_EQ(schedule.step(), "A8");
}

TEST(VllmV1, AVictimAlreadyScheduledGivesItsTokensBack) {
  // Blocks of 4, 8 usable, budget 12, first-chunk admission. A: priority 5, 5 in, 5 out, at 0 s;
  // B: priority 1, 11 in, 5 out, at 1 s; C: priority 0, 40 in, 1 out, at 2 s.
  // 1: A5, 2 blocks. 2: A1, B11, 3 blocks. 3: A1, B1, and C gets the 10 left, 3 blocks: all 8 used.
  // 4: A1 is scheduled (8 tokens, still 2 blocks). B's 13th token needs a block: A is the worst and
  //    gives back 2 blocks and its token, so after B1 the budget is 11 and C wants 11: 21 tokens, 6
  //    blocks, 3 more, 1 is free. B is the worst left and goes too; C keeps the 11 it asked for.
  Workload workload = batch_of({{5, 5}, {11, 5}, {40, 1}});
  workload.requests[0].priority = 5;
  workload.requests[1].priority = 1;
  workload.requests[1].arrival = 1 * kSecond;
  workload.requests[2].arrival = 2 * kSecond;
  Engine engine = with_budget(12);
  engine.order = QueueOrder::priority;
  engine.reserve_full_sequence = false;
  Schedule schedule(engine, 8, 4, workload);
  EXPECT_EQ(schedule.step(), "A5");
  EXPECT_EQ(schedule.step(), "A1 B11");
  EXPECT_EQ(schedule.step(), "A1 B1 C10");
  EXPECT_EQ(schedule.used_blocks(), 8);
  EXPECT_EQ(schedule.step(), "C11 -A -B");
  EXPECT_EQ(schedule.used_blocks(), 6);
}

TEST(VllmV1, ARequestThatGivesWayItselfLeavesTheStepToTheOthers) {
  // Blocks of 4, 5 usable. A: priority 5, 7 in, 4 out, at 0 s; B: priority 1, 11 in, 3 out, at 1 s.
  // 2: A1 (8 tokens, 2 blocks), B11 (3 blocks). 3: A's 9th token needs a block and A is the worst:
  // it
  //    gives way and nothing is scheduled, so the scheduler looks again at once: B1 (12 tokens).
  //    A's 9 tokens need 3 blocks, 2 are free. 4: B's 13th token takes a 4th block and B ends. 5:
  //    A9.
  Workload workload = batch_of({{7, 4}, {11, 3}});
  workload.requests[0].priority = 5;
  workload.requests[1].priority = 1;
  workload.requests[1].arrival = 1 * kSecond;
  Engine engine = plain_engine();
  engine.order = QueueOrder::priority;
  Schedule schedule(engine, 5, 4, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A7", "A1 B11", "B1", "B1", "A9", "A1"));
  EXPECT_EQ(schedule[0].preemptions, 1);
  EXPECT_EQ(schedule[0].finished, 6 * kSecond);
}

/// Blocks of 4: a group of layers that keeps all tokens and one with a window of 8.
CacheLayout windowed_layout() {
  CacheLayout layout = uniform_layout(4);
  layout.groups.resize(2);
  layout.groups[1].span = {.kind = AttentionSpan::Kind::sliding, .tokens = 8};
  return layout;
}

TEST(VllmV1, AWindowKeepsItsChunkAndGivesBackWhatHasLeftIt) {
  // Budget 8, A: 20 in, 4 out. Blocks of the group that keeps all, and of the window: at most as
  // many as the tokens fill, and ceil((7 + chunk) / 4) + 1.
  // 8 tokens: 2 + 2. 16: 4 + 4. 20, a chunk of 4: 5 + 4. 21, a decode: 6 + 3.
  Schedule schedule(with_budget(8), 100, windowed_layout(), batch_of({{20, 4}}));
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.used_blocks(), 4);
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.used_blocks(), 8);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 9);
  EXPECT_EQ(schedule.step(), "A1");
  EXPECT_EQ(schedule.used_blocks(), 9);
}

TEST(VllmV1, AdmissionCountsAWindowAtItsLargest) {
  // B's 20 tokens: 5 blocks, and in the window as many, for ceil((7 + 8) / 4) + 1 = 5 while chunks
  // of 8 are computed: 10 in all, though its first chunk of 4 tokens takes 2. A holds 9 in step 3.
  const Workload workload = batch_of({{20, 4}, {20, 1}});
  Schedule waits(with_budget(8), 18, windowed_layout(), workload);
  EXPECT_THAT(waits.steps_to_end(),
              ElementsAre("A8", "A8", "A4", "A1", "A1", "A1", "B8", "B8", "B4"));
  Schedule starts(with_budget(8), 19, windowed_layout(), workload);
  EXPECT_THAT(starts.steps_to_end(), ElementsAre("A8", "A8", "A4 B4", "A1 B7", "A1 B7", "A1 B2"));
}

// Without K and V no blocks are taken, of none. 12 tokens a step are one prompt of 8, since prompts
// are computed whole; two of 6 fit.
TEST(VllmV1, AnEncodersPromptsAreLimitedByTheBudgetAlone) {
  CacheLayout none;
  none.block_tokens = 16;
  Engine engine = with_budget(12);
  engine.chunked_prefill = false;
  Schedule schedule(engine, 0, none, batch_of({{8, 1}, {8, 1}, {6, 1}, {6, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8", "B8", "C6 D6"));
  EXPECT_EQ(schedule.used_blocks(), 0);
}

// The vector of an input is no token of its sequence: 8 tokens are within a max_model_len of 8.
TEST(VllmV1, AnInputToPoolMayBeAsLongAsTheModelTakes) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = with_budget(12);
  engine.max_model_len = 8;
  engine.pooling = true;
  const auto rejected = [&] {
    const auto result =
        simulate(replica_of(engine, step_time, 16, 4), batch_of({{8, 1}, {9, 1}}), {});
    return std::vector<bool>{result.requests[0].rejected, result.requests[1].rejected};
  };
  EXPECT_THAT(rejected(), ElementsAre(false, true));
  engine.pooling = false;
  EXPECT_THAT(rejected(), ElementsAre(true, true));
}

TEST(VllmV1, ReservesNothingForDeclaredOutput) {
  // Blocks of 4, 4 usable: both prompts fit, whatever their clients declare.
  for (const std::int64_t max_tokens : {std::int64_t{4}, std::int64_t{1000}, kNoMaxTokens}) {
    const Workload workload = declaring(batch_of({{4, 4}, {4, 4}}), max_tokens);
    EXPECT_EQ(Schedule(plain_engine(), 4, 4, workload).step(), "A4 B4");
  }
}

}  // namespace
}  // namespace roofcast::test
