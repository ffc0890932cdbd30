// Prefix caching in vLLM's schedules, worked out by hand, step by step (schedule.hpp).
#include <gmock/gmock.h>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Engine caching_engine() {
  Engine engine = plain_engine();
  engine.prefix_caching = true;
  return engine;
}

/// One request at second `at`, whose prompt consists of these spans.
struct AskedPrefix {
  std::int64_t at = 0;
  Lengths lengths{};
  std::vector<ContentSpan> contents{};
};

Workload prefix_workload(const std::vector<AskedPrefix>& requests) {
  Workload workload;
  for (const AskedPrefix& asked : requests) {
    workload.requests.push_back(
        {.arrival = asked.at * kSecond,
         .input_tokens = asked.lengths.input,
         .output_tokens = asked.lengths.output,
         .contents_begin = static_cast<std::uint32_t>(workload.contents.size()),
         .contents_count = static_cast<std::uint32_t>(asked.contents.size())});
    workload.contents.insert(workload.contents.end(), asked.contents.begin(), asked.contents.end());
  }
  return workload;
}

TEST(PrefixCaching, AHitIsWholeBlocksAndLeavesTheLastTokenToCompute) {
  // Blocks of 4. A computes 10 tokens, 2 blocks full. B, the same: 2 blocks hit. C, 8 tokens of it:
  // both blocks are cached, but one of its tokens must be computed, so its last block is.
  Schedule schedule(
      caching_engine(), 100, 4,
      prefix_workload({{0, {10, 1}, {{7, 10}}}, {1, {10, 1}, {{7, 10}}}, {1, {8, 1}, {{7, 8}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10", "B2 C4"));
  EXPECT_EQ(schedule[0].cached_tokens, 0);
  EXPECT_EQ(schedule[1].cached_tokens, 8);
  EXPECT_EQ(schedule[2].cached_tokens, 4);
  EXPECT_EQ(schedule.engine().counters().prefix_queries, 10 + 10 + 8);
  EXPECT_EQ(schedule.engine().counters().prefix_hits, 8 + 4);
}

TEST(PrefixCaching, OffItFindsNothing) {
  Schedule schedule(plain_engine(), 100, 4,
                    prefix_workload({{0, {10, 1}, {{7, 10}}}, {1, {10, 1}, {{7, 10}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10", "B10"));
  EXPECT_EQ(schedule.engine().counters().prefix_queries, 0);
}

TEST(PrefixCaching, BlocksAreSharedWithinTheStepThatComputesThem) {
  Schedule schedule(caching_engine(), 100, 4,
                    prefix_workload({{0, {10, 1}, {{7, 10}}}, {0, {10, 1}, {{7, 10}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10 B2"));
}

TEST(PrefixCaching, OnlyBlocksThatAreScheduledFullAreShared) {
  // Budget 7: A's first chunk fills one block of 4. In step 2 A takes 6, and B, with 1 token left,
  // finds the three blocks that A's 13 tokens fill: 1 of its own 2 tokens. Step 3: the other.
  Engine engine = caching_engine();
  engine.max_num_batched_tokens = 7;
  Schedule schedule(engine, 100, 4,
                    prefix_workload({{0, {13, 1}, {{7, 13}}}, {0, {14, 1}, {{7, 13}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A7", "A6 B1", "B1"));
}

TEST(PrefixCaching, HitBlocksThatNobodyHoldsUseUpRoom) {
  // Blocks of 4, 5 usable. A (8 tokens, 2 blocks) has ended; B (12 tokens, 3 blocks) runs to 4 s. C
  // needs 3 blocks: 2 it finds and 1 new. All 3 come out of the 2 that are free: it waits.
  const AskedPrefix a = {0, {8, 1}, {{7, 8}}};
  const AskedPrefix c = {1, {9, 1}, {{7, 8}}};
  Schedule waits(caching_engine(), 5, 4, prefix_workload({a, {1, {10, 3}, {}}, c}));
  EXPECT_THAT(waits.steps_to_end(), ElementsAre("A8", "B10", "B1", "B1", "C1"));
  // With a B of 2 blocks it starts.
  Schedule starts(caching_engine(), 5, 4, prefix_workload({a, {1, {6, 3}, {}}, c}));
  EXPECT_THAT(starts.steps_to_end(), ElementsAre("A8", "B6 C1", "B1", "B1"));
}

TEST(PrefixCaching, HitBlocksThatSomebodyHoldsCostNothing) {
  // Blocks of 4, 4 usable. A holds 3 at 9 tokens; C's 9 tokens share 2 of them and take the last.
  Schedule schedule(caching_engine(), 4, 4,
                    prefix_workload({{0, {8, 3}, {{7, 8}}}, {1, {9, 1}, {{7, 8}}}}));
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.step(), "A1 B1");
  EXPECT_EQ(schedule.used_blocks(), 4);
  EXPECT_EQ(schedule.step(), "A1");
  EXPECT_EQ(schedule.used_blocks(), 3);
}

TEST(PrefixCaching, ABlockedPromptStartsWhenABlockThatItSharesIsFull) {
  // Blocks of 4, 5 usable, chunks of 2. 1: A's first chunk takes a block; B's 20 tokens need 5, 4
  // are free. 2: A's second chunk fills its block, which B can share now, so it needs 4.
  Engine engine = caching_engine();
  engine.long_prefill_token_threshold = 2;
  Schedule schedule(engine, 5, 4,
                    prefix_workload({{0, {6, 9}, {{7, 6}}}, {0, {20, 1}, {{7, 20}}}}));
  EXPECT_EQ(schedule.step(), "A2");
  EXPECT_EQ(schedule.step(), "A2 B2");
  EXPECT_EQ(schedule[1].cached_tokens, 4);
}

TEST(PrefixCaching, TheEndOfTheLeastRecentlyUsedSequenceIsForgottenFirst) {
  // Blocks of 4, 6 usable, one request at a time. A leaves a0 to a3: free are 2 others, a3, a2, a1,
  // a0. B takes the others, a3 and a2, and leaves b0 to b3: free a1, a0, b3, b2, b1, b0.
  // C repeats A: finds a0 and a1 (8 of 17 tokens) and takes b3, b2, b1. D repeats B: finds b0.
  Schedule schedule(caching_engine(), 6, 4,
                    prefix_workload({{0, {16, 1}, {{7, 16}}},
                                     {1, {16, 1}, {{8, 16}}},
                                     {2, {17, 1}, {{7, 16}}},
                                     {3, {17, 1}, {{8, 16}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A16", "B16", "C9", "D13"));
}

TEST(PrefixCaching, APreemptedRequestFindsWhatIsLeftOfItsOwnBlocks) {
  // Blocks of 4, 5 usable, nothing shared. 1: A and B, 2 blocks each. 2: A's 9th token takes the
  // last; B gives up b1 and b0. 3 to 6: A's 13th token takes b1. B's 9 tokens would need 3 blocks:
  // 1 is free. 7: B finds b0 and computes 5 of 9.
  Schedule schedule(caching_engine(), 5, 4, batch_of({{8, 6}, {8, 6}}));
  EXPECT_THAT(schedule.steps_to_end(),
              ElementsAre("A8 B8", "A1 -B", "A1", "A1", "A1", "A1", "B5", "B1", "B1", "B1", "B1"));
  EXPECT_EQ(schedule.engine().counters().recomputed_tokens, 8);
  EXPECT_EQ(schedule.engine().counters().prefix_hits, 4);
  EXPECT_EQ(schedule[1].cached_tokens, 0);  // of its first admission
}

TEST(PrefixCaching, ASessionsNextTurnFindsWhatThisOneGenerated) {
  // Blocks of 4. A: 6 in, 3 out; the last token is never computed, so 8 tokens fill 2 blocks. B
  // repeats the 9 tokens and adds 4: it finds 8 and computes 5. When the output is not repeated,
  // the prompt alone is found: 1 block, and 9 of 13 are computed.
  Workload session = prefix_workload({{0, {6, 3}, {{7, 6}}}, {3, {13, 1}, {{7, 13}}}});
  Schedule alone(caching_engine(), 100, 4, session);
  EXPECT_THAT(alone.steps_to_end(), ElementsAre("A6", "A1", "A1", "B9"));
  session.requests[0].output_continues_prompt = true;
  Schedule repeated(caching_engine(), 100, 4, session);
  EXPECT_THAT(repeated.steps_to_end(), ElementsAre("A6", "A1", "A1", "B5"));
}

/// Blocks of 4: full attention, and recurrent layers that keep two states a sequence.
CacheLayout recurrent_layout() {
  CacheLayout layout = uniform_layout(4);
  layout.groups.push_back({.layers = 1, .recurrent = true, .rows_per_sequence = 2});
  return layout;
}

TEST(PrefixCaching, PromptsAreCutAtBlockEndsWhereStatesAreKept) {
  // vLLM 0.19, _mamba_block_aligned_split, budget 11: of 21 tokens the last full block ends at 20.
  // 11 tokens end within a block, so 8; 8 more; then 4 to the last block's end; 1 left.
  Engine engine = caching_engine();
  engine.max_num_batched_tokens = 11;
  Schedule schedule(engine, 100, recurrent_layout(), prefix_workload({{0, {21, 1}, {{7, 21}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8", "A8", "A4", "A1"));
}

TEST(PrefixCaching, AHitNeedsTheStateAtItsEnd) {
  // As above, with states at 8, 16 and 20. B repeats 15 tokens of A: three blocks are cached, but
  // the last state among them is that at 8; it then computes up to 12 and the rest. C repeats 17.
  Engine engine = caching_engine();
  engine.max_num_batched_tokens = 11;
  Schedule schedule(
      engine, 100, recurrent_layout(),
      prefix_workload(
          {{0, {21, 1}, {{7, 21}}}, {4, {15, 1}, {{7, 15}}}, {6, {18, 1}, {{7, 17}, {8, 1}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8", "A8", "A4", "A1", "B4", "B3", "C2"));
  EXPECT_EQ(schedule[1].cached_tokens, 8);
  EXPECT_EQ(schedule[2].cached_tokens, 16);
}

TEST(PrefixCaching, APromptOfOneChunkKeepsOnlyItsLastState) {
  // A and B share 12 tokens; A's only state is that at 20, beyond them. vLLM's users
  // see 0 % hits then (vllm-project/vllm issues 51198 and 51250).
  Schedule schedule(
      caching_engine(), 100, recurrent_layout(),
      prefix_workload({{0, {21, 1}, {{7, 12}, {8, 9}}}, {2, {21, 1}, {{7, 12}, {9, 9}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A20", "A1", "B20", "B1"));
  EXPECT_EQ(schedule[1].cached_tokens, 0);
}

TEST(PrefixCaching, AStateWrittenInAStepIsFoundInTheNext) {
  // A and B arrive together; A's 8 tokens end a block, B could restart there. It waits a step.
  Schedule schedule(caching_engine(), 100, recurrent_layout(),
                    prefix_workload({{0, {9, 2}, {{7, 9}}}, {0, {9, 1}, {{7, 9}}}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8", "A1 B1", "A1"));
}

TEST(PrefixCaching, StatesAreForgottenAsTheirBlocksAreTaken) {
  // 8 usable blocks. A's 8 tokens: two of attention, two states, and the state kept at 8 in a free
  // one. B, 20 tokens of its own, takes the free blocks from the least recently used on, among them
  // that state: five of attention and two states. C repeats A's prompt and finds no state.
  const auto workload =
      prefix_workload({{0, {9, 1}, {{7, 9}}}, {2, {20, 1}, {{9, 20}}}, {3, {9, 1}, {{7, 9}}}});
  Schedule small(caching_engine(), 8, recurrent_layout(), workload);
  EXPECT_THAT(small.steps_to_end(), ElementsAre("A8", "A1", "B20", "C8", "C1"));
  Schedule large(caching_engine(), 30, recurrent_layout(), workload);
  EXPECT_THAT(large.steps_to_end(), ElementsAre("A8", "A1", "B20", "C1"));
}

TEST(PrefixCaching, ASessionsNextTurnRestartsFromTheLastStateOfItsOutput) {
  // A: 6 in, 3 out; 4 tokens end its last full block, 8 computed ones end another. B repeats the 9
  // and adds 4; its own last full block ends at 12.
  Workload session = prefix_workload({{0, {6, 3}, {{7, 6}}}, {4, {13, 1}, {{7, 13}}}});
  Schedule alone(caching_engine(), 100, recurrent_layout(), session);
  EXPECT_THAT(alone.steps_to_end(), ElementsAre("A4", "A2", "A1", "A1", "B8", "B1"));
  session.requests[0].output_continues_prompt = true;
  Schedule repeated(caching_engine(), 100, recurrent_layout(), session);
  EXPECT_THAT(repeated.steps_to_end(), ElementsAre("A4", "A2", "A1", "A1", "B4", "B1"));
}

TEST(PrefixCaching, OutputContinuesOnlyAPromptThatIsSharedToItsEnd) {
  // 4 of A's 6 tokens are shared, and what it generates comes after 2 that are not: B, whose prompt
  // continues with the shared content, has only the first block in common.
  Workload session = prefix_workload({{0, {6, 3}, {{7, 4}}}, {3, {13, 1}, {{7, 13}}}});
  session.requests[0].output_continues_prompt = true;
  Schedule schedule(caching_engine(), 100, 4, session);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A6", "A1", "A1", "B9"));
}

TEST(PrefixCaching, AdaptersShareNothing) {
  Workload workload =
      prefix_workload({{0, {10, 1}, {{7, 10}}}, {1, {10, 1}, {{7, 10}}}, {2, {10, 1}, {{7, 10}}}});
  workload.requests[0].adapter = workload.requests[2].adapter = 0;
  workload.requests[1].adapter = 1;
  Schedule schedule(caching_engine(), 100, 4, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10", "B10", "C2"));
}

TEST(PrefixCaching, FullAttentionGroupsShareWhatWindowsDoNot) {
  // Blocks of 4: a group of full attention and one with a window of 8. A's 12 tokens leave 3 shared
  // blocks of one pool block each. B finds 8 of its 12 tokens and computes 4: its full group holds
  // 3 blocks, its window min(3, ceil((7 + 4) / 4) + 1) = 3.
  CacheLayout layout = uniform_layout(4);
  layout.groups.resize(2);
  layout.groups[1].span = {.kind = AttentionSpan::Kind::sliding, .tokens = 8};
  Schedule schedule(caching_engine(), 100, layout,
                    prefix_workload({{0, {12, 1}, {{7, 12}}}, {1, {12, 1}, {{7, 12}}}}));
  EXPECT_EQ(schedule.step(), "A12");
  EXPECT_EQ(schedule.step(), "B4");
  EXPECT_EQ(schedule.used_blocks(), 6);
}

}  // namespace
}  // namespace roofcast::test
