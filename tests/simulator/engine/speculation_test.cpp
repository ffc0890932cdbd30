// Speculative decoding: schedules worked out by hand, and the speed-up implied by the acceptance
// rate.
#include <gmock/gmock.h>

#include <cmath>

#include "simulator/engine/draft_acceptance.hpp"
#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Engine drafting(std::int64_t drafts, double acceptance) {
  Engine engine = plain_engine();
  engine.speculation.draft_tokens = drafts;
  engine.speculation.acceptance.assign(static_cast<std::size_t>(drafts), acceptance);
  return engine;
}

TEST(Speculation, AcceptedDraftsComeWithTheTokenThatVerifiesThem) {
  // 3 drafts, all accepted. 1: the prompt, 1 token. 2, 3: 4 tokens each, 9 in all. The tenth needs
  // a step of its own, in which the 3 drafts beyond the end are verified and dropped.
  Schedule schedule(drafting(3, 1.0), 100, 16, batch_of({{8, 10}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A8", "A4", "A4", "A4"));
  EXPECT_EQ(schedule[0].first_token, 1 * kSecond);
  EXPECT_EQ(schedule[0].finished, 4 * kSecond);
  EXPECT_EQ(schedule[0].largest_gap, 1 * kSecond);
  const EngineCounters& counters = schedule.engine().counters();
  EXPECT_EQ(counters.decode_tokens, 9);
  EXPECT_EQ(counters.decodes_with_drafts, 3);
  EXPECT_EQ(counters.drafted_tokens, 9);
  EXPECT_EQ(counters.accepted_tokens, 6);
}

TEST(Speculation, RejectedDraftsAreRolledBack) {
  // None accepted: as without drafts, but each step computes 4 tokens. Blocks of 4: the prompt's 4
  // tokens are one block; the first decode needs 8 slots, the second 9.
  Schedule schedule(drafting(3, 0.0), 100, 4, batch_of({{4, 3}}));
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 1);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 2);
  EXPECT_EQ(schedule.engine().batch().decode_new_tokens, 4);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 3);
  EXPECT_EQ(schedule.step(), "");
  EXPECT_EQ(schedule[0].finished, 3 * kSecond);
}

TEST(Speculation, ModelsThatDraftKeepSlotsForTheNextDrafts) {
  // Blocks of 4, 3 drafts of a draft model: the first decode covers 4 + 4 + 3 = 11 slots, 3 blocks;
  // the prompt's own step only the prompt.
  Engine engine = drafting(3, 0.0);
  engine.speculation.method = DraftMethod::draft_model;
  Schedule schedule(engine, 100, 4, batch_of({{4, 3}}));
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 1);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 3);
}

TEST(Speculation, SglangKeepsTwiceTheSlotsOfADecode) {
  // As the first of these tests. Pages of a token: the prompt's 8, then 2 x (1 + 3) more.
  Engine engine = drafting(3, 1.0);
  engine.scheduler = SchedulerKind::sglang;
  Schedule schedule(engine, 100, 1, batch_of({{8, 10}}));
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.used_blocks(), 8);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 16);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 20);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.step(), "");
  EXPECT_EQ(schedule.engine().counters().accepted_tokens, 6);
}

TEST(Speculation, TensorrtCountsDraftsInItsBudget) {
  // Budget 9: A decodes with 3 drafts, which leaves 5 tokens for B's prompt of 6; without, 8.
  // Blocks of 4: the first decode covers 8 + 4 slots.
  Engine engine = drafting(3, 1.0);
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.chunked_prefill = false;
  engine.max_num_batched_tokens = 9;
  const Workload workload = batch_of({{8, 5}, {6, 1}});
  Schedule schedule(engine, 100, 4, workload);
  EXPECT_EQ(schedule.step(), "A8");
  EXPECT_EQ(schedule.used_blocks(), 2);
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.used_blocks(), 3);
  EXPECT_EQ(schedule.step(), "B6");
  EXPECT_EQ(schedule.step(), "");
  engine.speculation = {};
  EXPECT_THAT(Schedule(engine, 100, 4, workload).steps_to_end(),
              ElementsAre("A8", "A1 B6", "A1", "A1", "A1"));
}

TEST(Speculation, TheBudgetCutsDrafts) {
  // Budget 6: A verifies 3 drafts, B has 2 tokens left: its own and 1 draft.
  Engine engine = drafting(3, 1.0);
  engine.max_num_batched_tokens = 6;
  Schedule schedule(engine, 100, 16, batch_of({{3, 5}, {3, 3}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A3 B3", "A4 B2"));
}

TEST(Speculation, DraftsEndWhereTheLongestSequenceDoes) {
  // At most 8 tokens: 4 in, 4 out. The first decode may compute positions up to 6, 3 tokens.
  Engine engine = drafting(3, 0.0);
  engine.max_model_len = 8;
  Schedule schedule(engine, 100, 16, batch_of({{4, 4}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A3", "A2", "A1"));
}

TEST(Speculation, EagleComputesTheLastBlockFoundAgain) {
  // Blocks of 4, 13 tokens repeated: 3 blocks are cached, 2 are taken.
  Engine engine = drafting(1, 1.0);
  engine.prefix_caching = true;
  engine.speculation.method = DraftMethod::eagle;
  Workload workload = batch_of({{13, 1}, {13, 1}});
  workload.contents = {{7, 13}};
  for (Request& request : workload.requests) request.contents_count = 1;
  workload.requests[1].arrival = kSecond;
  Schedule schedule(engine, 100, 4, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A13", "B5"));
}

TEST(Speculation, DraftPassesLengthenTheStep) {
  // Steps of 1 s, 2 drafts of 0.25 s each: 1.5 s.
  Engine engine = drafting(2, 1.0);
  engine.speculation.draft_pass = Seconds{0.25};
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(roomy_replica(engine, step_time), batch_of({{4, 4}}), {});
  EXPECT_EQ(result.requests[0].first_token, 3 * kSecond / 2);
  EXPECT_EQ(result.requests[0].finished, 3 * kSecond);
  EXPECT_DOUBLE_EQ(result.use.mean_acceptance_length, 3.0);
  EXPECT_DOUBLE_EQ(result.use.draft_acceptance, 1.0);
}

TEST(Speculation, TokensPerStepFollowTheAcceptanceRate) {
  // Leviathan et al. 2023, equation 1: a decode brings (1 - a^(k+1)) / (1 - a) tokens on average;
  // a = 0.8, k = 4: 0.67232 / 0.2 = 3.3616. A decode's tokens are 1 to 5, so their standard
  // deviation is below 2, and that of the mean of 20,000 decodes below 0.0142: within 4 of those.
  Engine engine = drafting(4, 0.0);
  engine.speculation.acceptance = {0.8, 0.64, 0.512, 0.4096};
  double tokens = 0;
  constexpr int kDecodes = 20'000;
  for (int i = 0; i < kDecodes; ++i) {
    tokens +=
        1.0 + static_cast<double>(accepted_drafts(engine.speculation, 1, i % 100, i / 100, 4));
  }
  EXPECT_NEAR(tokens / kDecodes, 3.3616, 4 * 0.0142);
}

TEST(Speculation, WhatIsAcceptedDependsOnTheRequestAndItsLengthAlone) {
  // Alone or beside others, a request takes the same steps.
  Engine engine = drafting(4, 0.5);
  Schedule alone(engine, 1000, 16, batch_of({{8, 100}}));
  Schedule together(engine, 1000, 16, batch_of({{8, 100}, {20, 70}, {30, 90}}));
  alone.steps_to_end();
  together.steps_to_end();
  EXPECT_EQ(alone[0].finished, together[0].finished);
  EXPECT_NE(together[1].finished, together[2].finished);
}

TEST(Speculation, AnotherSeedAcceptsOtherDrafts) {
  Engine engine = drafting(4, 0.5);
  int differ = 0;
  for (int i = 0; i < 100; ++i) {
    differ += accepted_drafts(engine.speculation, 1, 0, i, 4) !=
              accepted_drafts(engine.speculation, 2, 0, i, 4);
  }
  // All four or none, with equal chances: half of the hundred differ on average, deviation 5.
  EXPECT_NEAR(differ, 50, 20);
}

}  // namespace
}  // namespace roofcast::test
