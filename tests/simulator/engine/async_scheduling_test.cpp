// vLLM's asynchronous scheduling: a step is decided when the previous one starts. Worked out by
// hand, step by step (schedule.hpp).
#include <gmock/gmock.h>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Engine asynchronous(Engine engine) {
  engine.async_scheduling = true;
  return engine;
}

TEST(AsyncScheduling, APlaceIsFreeOneStepLater) {
  // Two places. A ends with step 2. C's turn is step 3 when it is decided after step 2, and step 4
  // when step 3 is decided as step 2 starts, A still in its place.
  Engine engine = plain_engine();
  engine.max_num_seqs = 2;
  const Workload workload = batch_of({{4, 2}, {4, 5}, {4, 1}});
  Schedule after(engine, 100, 16, workload);
  EXPECT_THAT(after.steps_to_end(), ElementsAre("A4 B4", "A1 B1", "B1 C4", "B1", "B1"));
  Schedule ahead(asynchronous(engine), 100, 16, workload);
  EXPECT_THAT(ahead.steps_to_end(), ElementsAre("A4 B4", "A1 B1", "B1", "B1 C4", "B1"));
}

TEST(AsyncScheduling, BlocksAreFreeOneStepLater) {
  // Blocks of 16, 3 usable: C's two come free with A's end after step 2.
  const Workload workload = batch_of({{20, 2}, {4, 5}, {20, 1}});
  Schedule after(plain_engine(), 3, 16, workload);
  EXPECT_THAT(after.steps_to_end(), ElementsAre("A20 B4", "A1 B1", "B1 C20", "B1", "B1"));
  Schedule ahead(asynchronous(plain_engine()), 3, 16, workload);
  EXPECT_THAT(ahead.steps_to_end(), ElementsAre("A20 B4", "A1 B1", "B1", "B1 C20", "B1"));
}

TEST(AsyncScheduling, WhatArrivesDuringAStepWaitsForTheOneAfterTheNext) {
  // B arrives in step 1. Step 2 has been decided by then.
  Workload workload = batch_of({{4, 4}, {4, 1}});
  workload.requests[1].arrival = kSecond / 2;
  Schedule after(plain_engine(), 100, 16, workload);
  EXPECT_THAT(after.steps_to_end(), ElementsAre("A4", "A1 B4", "A1", "A1"));
  Schedule ahead(asynchronous(plain_engine()), 100, 16, workload);
  EXPECT_THAT(ahead.steps_to_end(), ElementsAre("A4", "A1", "A1 B4", "A1"));
  EXPECT_EQ(ahead[1].scheduled, 1 * kSecond);  // decided as step 2 starts
  EXPECT_EQ(ahead[1].first_token, 3 * kSecond);
}

TEST(AsyncScheduling, DraftsWaitForTheStepAfterTheNextToo) {
  // 3 drafts, all accepted: A's 10 tokens come as 1, 4, 4 and 1, each at the end of its own step. B
  // arrives in step 2, when step 3 has been decided.
  Engine engine = plain_engine();
  engine.speculation.draft_tokens = 3;
  engine.speculation.acceptance.assign(3, 1.0);
  Workload workload = batch_of({{8, 10}, {4, 1}});
  workload.requests[1].arrival = 3 * kSecond / 2;
  Schedule after(engine, 100, 16, workload);
  EXPECT_THAT(after.steps_to_end(), ElementsAre("A8", "A4", "A4 B4", "A4"));
  Schedule ahead(asynchronous(engine), 100, 16, workload);
  EXPECT_THAT(ahead.steps_to_end(), ElementsAre("A8", "A4", "A4", "A4 B4"));
  EXPECT_EQ(ahead[0].first_token, 1 * kSecond);
  EXPECT_EQ(ahead[0].largest_gap, 1 * kSecond);
  EXPECT_EQ(ahead[0].finished, 4 * kSecond);
}

TEST(AsyncScheduling, AnIdleEngineLosesNoStep) {
  // One place: nothing is decided ahead while A ends, so B is admitted when it has.
  Engine engine = asynchronous(plain_engine());
  engine.max_num_seqs = 1;
  Schedule schedule(engine, 100, 16, batch_of({{4, 2}, {4, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1", "B4"));
}

TEST(AsyncScheduling, ARequestOfOneTokenIsNotScheduledAgain) {
  Schedule schedule(asynchronous(plain_engine()), 100, 16, batch_of({{4, 1}, {4, 3}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B4", "B1", "B1"));
  EXPECT_EQ(schedule[0].finished, 1 * kSecond);
}

TEST(AsyncScheduling, AVictimStillGetsTheTokenThatIsOnItsWay) {
  // Blocks of 4, 5 usable. Step 2 is decided as step 1 starts: A's 9th token takes the last block
  // and B is preempted with its first token on its way. It comes at 1 s, and counts among the 9
  // tokens that B computes again in step 7.
  Schedule schedule(asynchronous(plain_engine()), 5, 4, batch_of({{8, 6}, {8, 6}}));
  EXPECT_THAT(schedule.steps_to_end(),
              ElementsAre("A8 B8", "A1 -B", "A1", "A1", "A1", "A1", "B9", "B1", "B1", "B1", "B1"));
  EXPECT_EQ(schedule[1].first_token, 1 * kSecond);
  EXPECT_EQ(schedule[1].finished, 11 * kSecond);
}

TEST(AsyncScheduling, WhoseLastTokenIsOnItsWayIsNotPreempted) {
  // Blocks of 4, 4 usable: A holds 2, B and C 1 each. Step 3 is decided as step 2 starts: A's 9th
  // token finds no block. B and C will be complete with step 2 and cannot be victims, so A is; it
  // computes its 9 tokens again when they have gone.
  Schedule schedule(asynchronous(plain_engine()), 4, 4, batch_of({{7, 3}, {3, 2}, {2, 2}}));
  EXPECT_EQ(schedule.step(), "A7 B3 C2");
  EXPECT_EQ(schedule.step(), "A1 B1 C1");
  EXPECT_EQ(schedule.step(), "A9");
  EXPECT_EQ(schedule[0].preemptions, 1);
  EXPECT_EQ(schedule[1].preemptions, 0);
  EXPECT_EQ(schedule[2].preemptions, 0);
  EXPECT_EQ(schedule[2].finished, 2 * kSecond);
}

}  // namespace
}  // namespace roofcast::test
