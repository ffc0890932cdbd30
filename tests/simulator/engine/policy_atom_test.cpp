// ATOM's schedules worked out by hand, step by step (see schedule.hpp).
#include <gmock/gmock.h>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

/// As up to 0.1.2, without deferred output: prompts whole, at most `budget` tokens a step.
Engine atom_engine(std::int64_t budget) {
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::atom;
  engine.max_num_batched_tokens = budget;
  engine.chunked_prefill = false;
  return engine;
}

/// As from 0.1.3 on.
Engine chunking_engine(std::int64_t budget) {
  Engine engine = atom_engine(budget);
  engine.chunked_prefill = true;
  return engine;
}

/// The workload with arrivals in seconds.
Workload arriving(Workload workload, const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    workload.requests[i].arrival = to_nanoseconds(Seconds{seconds[i]});
  }
  return workload;
}

/// Every request has the same prompt.
Workload of_one_content(Workload workload) {
  for (Request& request : workload.requests) {
    request.contents_begin = static_cast<std::uint32_t>(workload.contents.size());
    request.contents_count = 1;
    workload.contents.push_back({.content = 7, .tokens = request.input_tokens});
  }
  return workload;
}

TEST(Atom, WholePromptsGoFirstAndAloneWhileTheyFitTheBudget) {
  // 10 tokens a step: A and B take 8, C's 4 would be 12.
  Schedule schedule(atom_engine(10), 100, 4, batch_of({{4, 3}, {4, 2}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B4", "C4", "A1 B1", "A1"));
}

TEST(Atom, DecodesPauseForAPromptThatArrives) {
  Schedule schedule(atom_engine(10), 100, 4, arriving(batch_of({{4, 4}, {4, 2}}), {0, 1.5}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1", "B4", "A1 B1", "A1"));
}

TEST(Atom, WithDeferredOutputAPromptStartsAStepLater) {
  // At 1 s, when B is seen, A's first decode was chosen long ago.
  Engine engine = atom_engine(10);
  const Workload workload = arriving(batch_of({{4, 3}, {4, 2}}), {0, 0.5});
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A4", "B4", "A1 B1", "A1"));
  engine.async_scheduling = true;
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A4", "A1", "B4", "A1 B1"));
}

TEST(Atom, ChunksFillTheBudgetAndUnfinishedPromptsComeFirst) {
  Schedule schedule(chunking_engine(6), 100, 4, batch_of({{10, 2}, {4, 2}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A6", "A4 B2", "B2", "A1 B1"));
}

TEST(Atom, APromptLongerThanTheBudgetNeverStartsUnlessItIsCut) {
  const FakeStepTime step_time(Seconds{1});
  const Workload workload = batch_of({{11, 1}, {10, 1}});
  const SimulationResult whole = simulate(roomy_replica(atom_engine(10), step_time), workload, {});
  EXPECT_EQ(whole.completed, 1);
  EXPECT_TRUE(whole.requests[0].rejected);
  EXPECT_EQ(simulate(roomy_replica(chunking_engine(10), step_time), workload, {}).completed, 2);
}

TEST(Atom, MaxNumSeqsLimitsTheSequencesOfAStepNotThoseThatRun) {
  // C's prompt takes a step of its own, then waits until A and B have their 3 tokens.
  Engine engine = atom_engine(100);
  engine.max_num_seqs = 2;
  Schedule schedule(engine, 100, 4, batch_of({{2, 3}, {2, 3}, {2, 3}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A2 B2", "C2", "A1 B1", "A1 B1", "C1", "C1"));
}

TEST(Atom, TheNewestIsPreemptedAndStartsAgainAtTheHead) {
  // Blocks of 4, 4 usable: two each for A and B. A's ninth token needs a third. B, 9 tokens with
  // its first, needs three then, which are free when A has ended.
  Schedule schedule(atom_engine(100), 4, 4, batch_of({{8, 5}, {8, 3}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(),
              ElementsAre("A8 B8", "A1 -B", "A1", "A1", "A1", "B9 C4", "B1"));
  EXPECT_EQ(schedule[1].preemptions, 1);
}

TEST(Atom, AChunkTakesTheBlocksOfItsWholePrompt) {
  // Blocks of 4, 5 usable, 8 tokens a step: A's 12 tokens take 3, so that B does not start with the
  // 4 tokens that A's second chunk leaves.
  Schedule schedule(chunking_engine(8), 5, 4, batch_of({{12, 1}, {12, 1}}));
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.used_blocks(), 3);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "B8", "B4"));
}

TEST(Atom, APrefixIsFoundOnceItsFirstTokenIsOnTheHost) {
  // Blocks of 4, three equal prompts of 10 tokens, of which 8 can be found, a prompt a step.
  // Without deferred output B finds A's. With it B is chosen while A's step runs, and C, which
  // arrives then, when that has ended.
  Engine engine = chunking_engine(10);
  engine.prefix_caching = true;
  const Workload workload =
      of_one_content(arriving(batch_of({{10, 1}, {10, 3}, {10, 1}}), {0, 0, 0.5}));
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A10", "B2 C2", "B1", "B1"));
  engine.async_scheduling = true;
  Schedule deferred(engine, 100, 4, workload);
  EXPECT_THAT(deferred.steps_to_end(), ElementsAre("A10", "B10", "C2", "B1", "B1"));
  EXPECT_EQ(deferred[2].cached_tokens, 8);
}

TEST(Atom, EqualPromptsOfOneStepAreComputedEach) {
  Engine engine = chunking_engine(100);
  engine.prefix_caching = true;
  Schedule schedule(engine, 100, 4, of_one_content(batch_of({{10, 1}, {10, 1}})));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A10 B10"));
}

TEST(Atom, DecodesWithDraftsTakeTheirTokensOfTheBudget) {
  // Three drafts, none accepted: 4 tokens a decode, two decodes in 8.
  Engine engine = atom_engine(8);
  engine.speculation.method = DraftMethod::mtp;
  engine.speculation.draft_tokens = 3;
  engine.speculation.acceptance = {0, 0, 0};
  Schedule schedule(engine, 100, 4, batch_of({{2, 2}, {2, 2}, {2, 2}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A2 B2 C2", "A4 B4", "C4"));
}

TEST(Atom, TheFastEngineDecodesNoMoreThanMaxNumSeqs) {
  // As above: three run, two decode a step. Steps of a second: A and B end after 4, C after 6.
  Engine engine = atom_engine(100);
  engine.max_num_seqs = 2;
  const FakeStepTime step_time(Seconds{1});
  const SimulationResult result =
      simulate(roomy_replica(engine, step_time), batch_of({{2, 3}, {2, 3}, {2, 3}}), {});
  EXPECT_EQ(result.requests[1].finished, 4 * kSecond);
  EXPECT_EQ(result.requests[2].finished, 6 * kSecond);
}

}  // namespace
}  // namespace roofcast::test
