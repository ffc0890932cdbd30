// Schedules worked out by hand, step by step. Requests are named A, B, C = 0, 1, 2; "A4" means
// four tokens of A are computed in the step.
#include <gmock/gmock.h>

#include "simulator/engine/admission.hpp"
#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Whole prompts, no block reuse, no overlap.
Engine tensorrt(CapacityPolicy policy = CapacityPolicy::guaranteed_no_evict) {
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.capacity_scheduler_policy = policy;
  engine.chunked_prefill = false;
  return engine;
}

Engine chunked(std::int64_t budget,
               ChunkingPolicy policy = ChunkingPolicy::first_come_first_served) {
  Engine engine = tensorrt();
  engine.chunked_prefill = true;
  engine.max_num_batched_tokens = budget;
  engine.context_chunking_policy = policy;
  return engine;
}

Engine reusing(Engine engine) {
  engine.prefix_caching = true;
  return engine;
}

/// Gives these requests' prompts the same first `tokens` tokens.
Workload alike(Workload workload, const std::vector<std::size_t>& requests, std::int64_t tokens) {
  for (const std::size_t i : requests) {
    workload.requests[i].contents_begin = static_cast<std::uint32_t>(workload.contents.size());
    workload.requests[i].contents_count = 1;
    workload.contents.push_back({.content = 1, .tokens = tokens});
  }
  return workload;
}

// ---- GUARANTEED_NO_EVICT

TEST(TensorrtNoEvict, ReservesPromptAndOutputBeforeARequestStarts) {
  // Blocks of 4, 5 usable. A and B: 8 in, 6 out: 14 tokens, 4 blocks each. Both prompts would fit,
  // and vLLM would start both and preempt B; here B waits until A has ended.
  Schedule schedule(tensorrt(), 5, 4, batch_of({{8, 6}, {8, 6}}));
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.used_blocks(), 2);  // reserved is not taken
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A1", "A1", "A1", "A1", "A1",  //
                                                   "B8", "B1", "B1", "B1", "B1", "B1"));
  EXPECT_EQ(schedule.engine().counters().preemptions, 0);
}

TEST(TensorrtNoEvict, TheLastTokenIsReservedThoughItIsNeverCached) {
  // Blocks of 4. A: 8 in, 5 out: 13 tokens, 4 blocks, though 12 cached tokens fill 3. B: 4 in, 4
  // out: 2 blocks. 5 usable blocks do not hold both, 6 do.
  const Workload workload = batch_of({{8, 5}, {4, 4}});
  EXPECT_THAT(Schedule(tensorrt(), 5, 4, workload).steps_to_end(),
              ElementsAre("A8", "A1", "A1", "A1", "A1", "B4", "B1", "B1", "B1"));
  EXPECT_THAT(Schedule(tensorrt(), 6, 4, workload).steps_to_end(),
              ElementsAre("A8 B4", "A1 B1", "A1 B1", "A1 B1", "A1"));
}

TEST(TensorrtNoEvict, ReservesWhatTheClientDeclares) {
  // Blocks of 4. A and B: 4 in, 4 out, max_tokens 12: 16 tokens, 4 blocks each, of which 2 get
  // used. 8 usable blocks hold both, 7 do not; without a declared limit 4 would.
  const Workload workload = batch_of({{4, 4}, {4, 4}});
  EXPECT_THAT(Schedule(tensorrt(), 8, 4, declaring(workload, 12)).steps_to_end(),
              ElementsAre("A4 B4", "A1 B1", "A1 B1", "A1 B1"));
  EXPECT_THAT(Schedule(tensorrt(), 7, 4, declaring(workload, 12)).steps_to_end(),
              ElementsAre("A4", "A1", "A1", "A1", "B4", "B1", "B1", "B1"));
  EXPECT_THAT(Schedule(tensorrt(), 4, 4, workload).steps_to_end(),
              ElementsAre("A4 B4", "A1 B1", "A1 B1", "A1 B1"));
}

TEST(TensorrtNoEvict, ReservesTheWholeContextIfNothingIsDeclared) {
  // Blocks of 4, max_model_len 20: 5 blocks each.
  Engine engine = tensorrt();
  engine.max_model_len = 20;
  const Workload workload = declaring(batch_of({{4, 2}, {4, 2}}), kNoMaxTokens);
  EXPECT_THAT(Schedule(engine, 10, 4, workload).steps_to_end(), ElementsAre("A4 B4", "A1 B1"));
  EXPECT_THAT(Schedule(engine, 9, 4, workload).steps_to_end(), ElementsAre("A4", "A1", "B4", "B1"));
  // A cache of 3 blocks lowers the context to 12 tokens.
  EXPECT_THAT(Schedule(engine, 3, 4, workload).steps_to_end(), ElementsAre("A4", "A1", "B4", "B1"));
}

TEST(TensorrtNoEvict, TheFirstThatDoesNotFitHoldsBackAllBehindIt) {
  // Blocks of 4, 5 usable. A and C: 4 in, 4 out, 2 blocks; B: 12 in, 4 out, 4 blocks. Beside A are
  // 3 blocks: too few for B, and C does not overtake. Beside B is 1: too few for C.
  Schedule schedule(tensorrt(), 5, 4, batch_of({{4, 4}, {12, 4}, {4, 4}}));
  EXPECT_THAT(schedule.steps_to_end(),
              ElementsAre("A4", "A1", "A1", "A1", "B12", "B1", "B1", "B1", "C4", "C1", "C1", "C1"));
}

TEST(TensorrtNoEvict, OverlapSeesAnEndOneStepLate) {
  // Blocks of 4, 4 usable; 4 in each; 2 blocks each. A: 2 out, B: 4 out, C: 2 out. A's last token
  // comes in step 2. Without overlap C starts in step 3; with it step 3 is decided while A's blocks
  // are still held, and C starts in step 4.
  const Workload workload = batch_of({{4, 2}, {4, 4}, {4, 2}});
  Engine engine = tensorrt();
  EXPECT_THAT(Schedule(engine, 4, 4, workload).steps_to_end(),
              ElementsAre("A4 B4", "A1 B1", "B1 C4", "B1 C1"));
  engine.async_scheduling = true;
  EXPECT_THAT(Schedule(engine, 4, 4, workload).steps_to_end(),
              ElementsAre("A4 B4", "A1 B1", "B1", "B1 C4", "C1"));
}

TEST(TensorrtNoEvict, MaxBatchSizeBoundsTheRunningRequests) {
  Engine engine = tensorrt();
  engine.max_num_seqs = 2;
  Schedule schedule(engine, 100, 4, batch_of({{4, 2}, {4, 1}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B4", "A1 C4"));
}

TEST(TensorrtNoEvict, WaitingRequestsComeByPriorityWhenAskedTo) {
  Workload workload = batch_of({{4, 1}, {4, 1}, {4, 1}});
  workload.requests[0].priority = workload.requests[1].priority = 1;
  Engine engine = tensorrt();
  engine.order = QueueOrder::priority;
  engine.max_num_batched_tokens = 4;  // looked at, but without tokens, they go back to their order
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(), ElementsAre("C4", "A4", "B4"));
}

// ---- prompts, whole and in chunks

TEST(TensorrtPrompts, AWholePromptThatExceedsTheTokensLeftWaitsAndHoldsBackThoseBehind) {
  // 10 tokens a step. 1: A's 4; B's 8 do not fit the 6 left, and C's 3 do not overtake. 2: A's
  // token and B's 8; C's 3 do not fit the 1 left. 3: C.
  Engine engine = tensorrt();
  engine.max_num_batched_tokens = 10;
  Schedule schedule(engine, 100, 4, batch_of({{4, 3}, {8, 2}, {3, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1 B8", "A1 B1 C3"));
}

TEST(TensorrtPrompts, ChunksAreWholeBlocks) {
  // 10 tokens a step, blocks of 4. 1: A's 4, and 4 of the 6 left for B. 2 and 3: A's token, and 8
  // of 9. 4: B's last 5 of 25. vLLM would cut 6, 9, 9 and 1.
  Schedule schedule(chunked(10), 100, 4, batch_of({{4, 5}, {25, 2}}));
  EXPECT_EQ(schedule.step(), "A4 B4");
  EXPECT_FALSE(schedule.chunks()[1].emits_token);
  EXPECT_EQ(schedule.used_blocks(), 8);  // A: 1; B: all 7 of its prompt
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A1 B8", "A1 B8", "A1 B5", "A1 B1"));
  EXPECT_EQ(schedule[1].first_token, 4 * kSecond);
}

TEST(TensorrtPrompts, WhatIsLeftOfAStepGoesToAPromptItHoldsWhole) {
  // 6 tokens a step, blocks of 4. 1: A's 4 leave 2: no block of B's 9, but C's 2. 2: A's token
  // leaves 5, B gets 4. 3: B's last 5.
  Schedule schedule(chunked(6), 100, 4, batch_of({{4, 3}, {9, 1}, {2, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 C2", "A1 B4", "A1 B5"));
}

TEST(TensorrtPrompts, EqualProgressAdvancesPromptsTogether) {
  // 12 tokens a step, blocks of 4. A: 20 in, B: 10 in. Equal progress: 8 and 4, twice, then the
  // rest. First come, first served: 12 of A; its last 8 and 4 of B; B's last 6.
  const Workload workload = batch_of({{20, 1}, {10, 1}});
  EXPECT_THAT(
      Schedule(chunked(12, ChunkingPolicy::equal_progress), 100, 4, workload).steps_to_end(),
      ElementsAre("A8 B4", "A8 B4", "A4 B2"));
  EXPECT_THAT(Schedule(chunked(12), 100, 4, workload).steps_to_end(),
              ElementsAre("A12", "A8 B4", "B6"));
}

// ---- MAX_UTILIZATION

TEST(TensorrtMaxUtilization, PausesTheRequestThatStartedLastAndComputesItAgain) {
  // Blocks of 4, 5 usable. A and B: 8 in, 6 out.
  // 1: both prompts, 4 blocks. 2: A's 9th token gets the last block; B's finds none, and B, which
  //    started last, is paused. 3 to 6: A to its end (13 cached tokens, 4 blocks). B's 9 tokens
  //    need 3 blocks; 2, then 1, are free. 7: B's prompt is now 9 tokens. 8 to 11: its other
  //    tokens.
  Schedule schedule(tensorrt(CapacityPolicy::max_utilization), 5, 4, batch_of({{8, 6}, {8, 6}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8 B8", "A1 -B", "A1", "A1", "A1", "A1",  //
                                                   "B9", "B1", "B1", "B1", "B1"));
  EXPECT_EQ(schedule[1].preemptions, 1);
  EXPECT_EQ(schedule.engine().counters().recomputed_tokens, 8);
}

TEST(TensorrtMaxUtilization, SeveralPausedRequestsReturnInTheirOldOrder) {
  // Blocks of 4, 5 usable. A: 8 in, 3 out (2 blocks); B: 4 in, 3 out; C, D: 4 in, 2 out (1 each).
  // 2: A's 9th token pauses D, B's 5th pauses C. 3: A and B end with 3 and 2 blocks. 4: C and D, 5
  // tokens and 2 blocks each.
  Schedule schedule(tensorrt(CapacityPolicy::max_utilization), 5, 4,
                    batch_of({{8, 3}, {4, 3}, {4, 2}, {4, 2}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8 B4 C4 D4", "A1 B1 -D -C", "A1 B1", "C5 D5"));
}

TEST(TensorrtMaxUtilization, NothingStartsInAStepThatPauses) {
  // Blocks of 4, 4 usable, 2 requests at most. A: 8 in, 5 out; B: 7 in, 2 out; C: 4 in, 1 out.
  // 2: A's 9th token needs B's blocks. One block is then free, C's prompt would fit it, and C
  // waits. 3 to 5: B, now first in the queue, needs 2 blocks. 6: both.
  Engine engine = tensorrt(CapacityPolicy::max_utilization);
  engine.max_num_seqs = 2;
  Schedule schedule(engine, 4, 4, batch_of({{8, 5}, {7, 2}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8 B7", "A1 -B", "A1", "A1", "A1", "B8 C4"));
}

TEST(TensorrtMaxUtilization, AStartNeedsTheBlocksOfTheWholePrompt) {
  // Blocks of 4, 3 usable, 4 tokens a step, in chunks. A: 4 in, 3 out; B: 12 in, 1 out. A chunk of
  // B would fit beside A, its prompt of 3 blocks does not.
  Engine engine = chunked(4);
  engine.capacity_scheduler_policy = CapacityPolicy::max_utilization;
  Schedule schedule(engine, 3, 4, batch_of({{4, 3}, {12, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1", "A1", "B4", "B4", "B4"));
}

TEST(TensorrtMaxUtilization, APausedRequestFindsWhatIsLeftOfItsBlocks) {
  // As the first of these tests, with block reuse. B leaves 2 blocks behind, its end first in line
  // to be taken: by A's 13th token in step 6. In step 7 B finds its first block and computes 5
  // of 9.
  Schedule schedule(reusing(tensorrt(CapacityPolicy::max_utilization)), 5, 4,
                    batch_of({{8, 6}, {8, 6}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8 B8", "A1 -B", "A1", "A1", "A1", "A1",  //
                                                   "B5", "B1", "B1", "B1", "B1"));
}

// ---- STATIC_BATCH

TEST(TensorrtStaticBatch, TheNextBatchStartsWhenNobodyGenerates) {
  // A and B start together; C comes at 1 s. B ends in step 1, A in step 3. No-evict takes C in
  // step 2.
  Workload workload = batch_of({{4, 3}, {4, 1}, {4, 1}});
  workload.requests[2].arrival = kSecond;
  EXPECT_THAT(Schedule(tensorrt(CapacityPolicy::static_batch), 100, 4, workload).steps_to_end(),
              ElementsAre("A4 B4", "A1", "A1", "C4"));
  EXPECT_THAT(Schedule(tensorrt(), 100, 4, workload).steps_to_end(),
              ElementsAre("A4 B4", "A1 C4", "A1"));
}

TEST(TensorrtStaticBatch, ABatchIsWhatOneStepHolds) {
  // 8 tokens a step: A and B start; C's prompt does not fit, and waits for both to end.
  Engine engine = tensorrt(CapacityPolicy::static_batch);
  engine.max_num_batched_tokens = 8;
  EXPECT_THAT(Schedule(engine, 100, 4, batch_of({{4, 2}, {4, 2}, {4, 1}})).steps_to_end(),
              ElementsAre("A4 B4", "A1 B1", "C4"));
}

TEST(TensorrtStaticBatch, APromptInChunksWaitsForTheGenerations) {
  // 8 tokens a step, in chunks: A's 4 and 4 of B. While A generates, B's other 4 are not in turn.
  Engine engine = chunked(8);
  engine.capacity_scheduler_policy = CapacityPolicy::static_batch;
  EXPECT_THAT(Schedule(engine, 100, 4, batch_of({{4, 3}, {8, 1}})).steps_to_end(),
              ElementsAre("A4 B4", "A1", "A1", "B4"));
}

// ---- waiting for more prompts

TEST(TensorrtBatchWaiting, PromptsWaitForAShareOfTheBudgetOrForSoManyIterations) {
  // 100 tokens a step; prompts wait for 50 tokens with the generations', at most 3 iterations. A
  // starts alone: nothing generates. B arrives at 0.5 s: 10 + 1 tokens are not enough at 1, 2 and
  // 3 s. With C of 45, which arrives at 1.5 s, they are at 2 s.
  Engine engine = tensorrt();
  engine.max_num_batched_tokens = 100;
  engine.batch_wait_timeout_iters = 3;
  engine.batch_wait_max_tokens_ratio = 0.5;
  Workload workload = batch_of({{10, 6}, {10, 1}});
  workload.requests[1].arrival = kSecond / 2;
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A10", "A1", "A1", "A1", "A1 B10", "A1"));
  workload.requests.push_back({.arrival = 3 * kSecond / 2, .input_tokens = 45, .output_tokens = 1});
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A10", "A1", "A1 B10 C45", "A1", "A1", "A1"));
}

// ---- block reuse

TEST(TensorrtReuse, ARequestWaitsForBlocksThatAnotherProduces) {
  // Blocks of 4. A and B: 9 in, 2 out, the first 8 alike. B would compute what A computes now, so
  // it waits a step and finds 2 blocks.
  const Workload workload = alike(batch_of({{9, 2}, {9, 2}}), {0, 1}, 8);
  Schedule schedule(reusing(tensorrt()), 100, 4, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A9", "A1 B1", "B1"));
  EXPECT_EQ(schedule[1].cached_tokens, 8);
  EXPECT_EQ(schedule.engine().counters().prefix_hits, 8);
  EXPECT_THAT(Schedule(tensorrt(), 100, 4, workload).steps_to_end(), ElementsAre("A9 B9", "A1 B1"));
}

TEST(TensorrtReuse, WithOverlapThePromptOfTheStepInProgressIsNeitherFoundNorWaitedFor) {
  // As above, C like B but at 0.5 s. Step 2 is decided when step 1 starts: A counts as generating,
  // so B is not passed over again, and A's blocks are not stored yet, so B computes all 9. C starts
  // in step 3, decided when step 1 had ended, and finds them.
  Workload workload = alike(batch_of({{9, 2}, {9, 2}, {9, 2}}), {0, 1, 2}, 8);
  workload.requests[2].arrival = kSecond / 2;
  Engine engine = reusing(tensorrt());
  engine.async_scheduling = true;
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A9", "A1 B9", "B1 C1", "C1"));
}

TEST(TensorrtReuse, APromptInChunksIsFoundWhenItsLastChunkIsDone) {
  // 4 tokens a step, blocks of 4; 12 tokens alike. B is passed over until A's third chunk has
  // ended, then finds 2 blocks: the third holds its last token, which is computed.
  Schedule schedule(reusing(chunked(4)), 100, 4, alike(batch_of({{12, 1}, {12, 1}}), {0, 1}, 12));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A4", "A4", "B4"));
}

TEST(TensorrtReuse, OneThatIsPassedOverKeepsItsPlaceInTheQueueAndAmongTheActive) {
  // A and B alike. C starts beside A; with 2 places, B holds the second and C is not looked at.
  const Workload workload = alike(batch_of({{9, 2}, {9, 2}, {4, 1}}), {0, 1}, 8);
  Engine engine = reusing(tensorrt());
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A9 C4", "A1 B1", "B1"));
  engine.max_num_seqs = 2;
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A9", "A1 B1", "B1 C4"));
}

TEST(TensorrtReuse, BlocksThatMightBeFoundAreReservedAllTheSame) {
  // Blocks of 4, 5 usable. A and B: 9 in, 3 out: 3 blocks each, 2 of them alike. B would need one
  // beside A, but its whole need does not fit the 2 left.
  Schedule schedule(reusing(tensorrt()), 5, 4, alike(batch_of({{9, 3}, {9, 3}}), {0, 1}, 8));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A9", "A1", "A1", "B1", "B1", "B1"));
}

Engine counting_cached() {
  Engine engine = reusing(tensorrt());
  engine.counts_cached = true;
  return engine;
}

TEST(TensorrtReuse, Since13BlocksThatOthersHoldAreNotReservedAgain) {
  // As before: beside A's 3 blocks, B needs 3 less the 2 that A holds, and 2 are left.
  Schedule schedule(counting_cached(), 5, 4, alike(batch_of({{9, 3}, {9, 3}}), {0, 1}, 8));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A9", "A1 B1", "A1 B1", "B1"));
}

TEST(TensorrtReuse, Since13CachedTokensTakeNoneOfTheBudget) {
  // 12 tokens a step, blocks of 4; three prompts of 9 tokens, the first 8 alike. With A's blocks B
  // and C compute a token each; counted whole, B's 9 leave 2 beside A's token, too few for C.
  const Workload workload = alike(batch_of({{9, 2}, {9, 1}, {9, 1}}), {0, 1, 2}, 8);
  Engine engine = counting_cached();
  engine.max_num_batched_tokens = 12;
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(), ElementsAre("A9", "A1 B1 C1"));
  engine.counts_cached = false;
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(), ElementsAre("A9", "A1 B1", "C1"));
}

TEST(TensorrtReuse, WhatAChunkFindsShortensItAlone) {
  // 8 tokens a step, blocks of 4. A: 8 in, 1 out, 1 s before B: 21 in, the first 8 alike. B's first
  // chunk was to be 8 of 21: with 8 tokens found it computes the next 8, then the last 5.
  Workload workload = alike(batch_of({{8, 1}, {21, 1}}), {0, 1}, 8);
  workload.requests[1].arrival = kSecond;
  Schedule schedule(reusing(chunked(8)), 100, 4, workload);
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.step(), "B8");
  EXPECT_EQ(schedule.chunks()[0].context_tokens, 8);
  EXPECT_EQ(schedule.step(), "B5");
  EXPECT_EQ(schedule.step(), "");
}

// ---- what can never be served

std::vector<std::string> refusals(const Engine& engine, const Workload& workload) {
  const FakeStepTime step_time(Seconds{1});
  std::vector<RequestRecord> records = records_of(workload);
  std::vector<std::string> reasons;
  for (const Refusal& refusal : reject_impossible(records, replica_of(engine, step_time, 3, 4))) {
    reasons.push_back(refusal.reason);
  }
  return reasons;
}

TEST(TensorrtAdmission, AWholePromptMustFitAStep) {
  // 10 tokens a step. With no-evict a prompt of 10 is served, whatever it generates; one of 11 is
  // not. After a pause the whole sequence is a prompt, here up to 11 of 12 tokens.
  Engine engine = tensorrt();
  engine.max_num_batched_tokens = 10;
  EXPECT_THAT(refusals(engine, batch_of({{10, 2}})), ElementsAre());
  EXPECT_THAT(refusals(engine, batch_of({{11, 1}})),
              ElementsAre(HasSubstr("an iteration holds at most max_num_tokens 10")));
  engine.capacity_scheduler_policy = CapacityPolicy::max_utilization;
  EXPECT_THAT(refusals(engine, batch_of({{10, 2}})), ElementsAre(HasSubstr("max_num_tokens 10")));
  EXPECT_THAT(refusals(chunked(10), batch_of({{11, 1}})), ElementsAre());
}

TEST(TensorrtAdmission, ADecodeAndItsDraftsMustFitAStep) {
  // Three drafts: four tokens at once, which no step of three holds. One token has no decode.
  Engine engine = tensorrt();
  engine.speculation = {.draft_tokens = 3, .acceptance = {0.5, 0.25, 0.125}};
  engine.max_num_batched_tokens = 4;
  EXPECT_THAT(refusals(engine, batch_of({{2, 2}})), ElementsAre());
  engine.max_num_batched_tokens = 3;
  EXPECT_THAT(refusals(engine, batch_of({{2, 1}})), ElementsAre());
  EXPECT_THAT(refusals(engine, batch_of({{2, 2}})),
              ElementsAre("a decode of 4 tokens, its drafts included, exceeds "
                          "max_num_batched_tokens 3 (longest: 4 tokens, prompt and output)"));
}

TEST(TensorrtAdmission, AChunkMustFitAStep) {
  EXPECT_THAT(refusals(chunked(3), batch_of({{4, 1}})),
              ElementsAre(HasSubstr("tokens_per_block 4")));
  EXPECT_THAT(refusals(chunked(3), batch_of({{3, 1}})), ElementsAre());
}

TEST(TensorrtAdmission, TheWholeReservationMustFitTheCache) {
  // 3 blocks of 4 tokens. 12 tokens fit; 13 do not, though the last is never cached: that is enough
  // for max-utilisation.
  EXPECT_THAT(refusals(tensorrt(), batch_of({{8, 4}})), ElementsAre());
  EXPECT_THAT(refusals(tensorrt(), batch_of({{8, 5}})),
              ElementsAre(HasSubstr("larger than the whole KV cache of 3 usable blocks")));
  EXPECT_THAT(refusals(tensorrt(CapacityPolicy::max_utilization), batch_of({{8, 5}})),
              ElementsAre());
}

}  // namespace
}  // namespace roofcast::test
