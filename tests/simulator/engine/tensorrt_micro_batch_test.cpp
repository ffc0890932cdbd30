// Tokens per candidate, worked out by hand.
#include "simulator/engine/tensorrt_micro_batch.hpp"

#include <gmock/gmock.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

AdmissionCandidate prompt(std::int64_t tokens) { return {.wanted = tokens}; }
AdmissionCandidate generation() { return {.generation = true, .wanted = 1}; }

Engine engine_of(std::int64_t budget, bool chunked,
                 ChunkingPolicy policy = ChunkingPolicy::first_come_first_served) {
  Engine engine = plain_engine();
  engine.max_num_batched_tokens = budget;
  engine.chunked_prefill = chunked;
  engine.context_chunking_policy = policy;
  return engine;
}

/// Tokens of each candidate, with a chunk unit of 4.
std::vector<std::int64_t> shared(const Engine& engine, std::vector<AdmissionCandidate> batch) {
  share_tokens(engine, 4, batch);
  std::vector<std::int64_t> tokens;
  for (const AdmissionCandidate& candidate : batch) tokens.push_back(candidate.tokens);
  return tokens;
}

TEST(TensorrtMicroBatch, WholePromptsRunUpToTheFirstThatDoesNotFit) {
  // Budget 10: 1 + 6 leave 3, so 4 does not fit and 2 behind it is not looked at.
  EXPECT_THAT(shared(engine_of(10, false), {generation(), prompt(6), prompt(4), prompt(2)}),
              ElementsAre(1, 6, 0, 0));
  EXPECT_THAT(shared(engine_of(10, false), {prompt(6), prompt(4)}), ElementsAre(6, 4));
}

AdmissionCandidate prompt(std::int64_t tokens, std::int64_t cached) {
  return {.wanted = tokens, .cached = cached};
}

TEST(TensorrtMicroBatch, WhatIsCachedTakesNoneOfTheBudget) {
  // TensorRT-LLM's own case (1.3, microBatchSchedulerTest, ReusableTokens): budget 20, two
  // prompts of 20 tokens, 15 of each cached: 5 + 5 are computed. Without, one fits.
  EXPECT_THAT(shared(engine_of(20, false), {prompt(20, 15), prompt(20, 15)}), ElementsAre(20, 20));
  EXPECT_THAT(shared(engine_of(20, false), {prompt(20), prompt(20)}), ElementsAre(20, 0));
}

TEST(TensorrtMicroBatch, WhatIsCachedShiftsAChunkAndShortensTheLastOne) {
  // Budget 12. 30 tokens with 8 cached: 22 do not fit, so tokens 9 to 20 are a chunk of 12. Of 16
  // with 8 cached the last 8 are computed, which leaves 4.
  EXPECT_THAT(shared(engine_of(12, true), {prompt(30, 8), prompt(4)}), ElementsAre(12, 0));
  EXPECT_THAT(shared(engine_of(12, true), {prompt(16, 8), prompt(4)}), ElementsAre(16, 4));
  // In turn: 4 each, then 4 more of the first: 8 tokens, shifted by the 8 cached to the prompt's
  // end.
  EXPECT_THAT(
      shared(engine_of(12, true, ChunkingPolicy::equal_progress), {prompt(16, 8), prompt(8)}),
      ElementsAre(8, 4));
}

TEST(TensorrtMicroBatch, GenerationsBeyondTheBudgetWait) {
  EXPECT_THAT(shared(engine_of(2, true), {generation(), generation(), generation(), prompt(3)}),
              ElementsAre(1, 1, 0, 0));
}

TEST(TensorrtMicroBatch, GenerationsComeBeforeChunksWhereverTheyStand) {
  // Budget 9: two generations leave 7, of which a prompt of 20 gets a whole chunk of 4.
  EXPECT_THAT(shared(engine_of(9, true), {generation(), prompt(20), generation()}),
              ElementsAre(1, 4, 1));
}

TEST(TensorrtMicroBatch, AChunkIsCutToWholeUnitsUnlessItEndsThePrompt) {
  // Budget 15. First come, first served: 15 of 30 are cut to 12; 3 are left, less than a unit, so
  // the prompt of 9 gets none and the one of 2, which they hold whole, runs.
  EXPECT_THAT(shared(engine_of(15, true), {prompt(30), prompt(9), prompt(2)}),
              ElementsAre(12, 0, 2));
  // 13 of 15 for the first: its end, so not cut. 2 are left for 5: none.
  EXPECT_THAT(shared(engine_of(15, true), {prompt(13), prompt(5)}), ElementsAre(13, 0));
}

TEST(TensorrtMicroBatch, EqualProgressGivesAUnitToEachInTurn) {
  const auto policy = ChunkingPolicy::equal_progress;
  // Budget 12: 4 and 4, then 4 more for the first.
  EXPECT_THAT(shared(engine_of(12, true, policy), {prompt(20), prompt(10)}), ElementsAre(8, 4));
  // Budget 10: 4 and 4; a second unit of either exceeds the 2 left.
  EXPECT_THAT(shared(engine_of(10, true, policy), {prompt(8), prompt(7)}), ElementsAre(4, 4));
  // Budget 10: 4 and 4; 2 are left: too few for the first's next 4, enough for the second's last 2.
  EXPECT_THAT(shared(engine_of(10, true, policy), {prompt(8), prompt(6)}), ElementsAre(4, 6));
  // First come, first served gives the first of them all it wants: 8, then 2 for 6: none.
  EXPECT_THAT(shared(engine_of(10, true), {prompt(8), prompt(6)}), ElementsAre(8, 0));
}

TEST(TensorrtMicroBatch, PromptsThatFitTogetherAreNotCut) {
  const auto policy = ChunkingPolicy::equal_progress;
  EXPECT_THAT(shared(engine_of(15, true, policy), {prompt(10), prompt(5)}), ElementsAre(10, 5));
}

}  // namespace
}  // namespace roofcast::test
