// K and V in contiguous ranges and what they leave empty, worked out by hand. Requests are named A,
// B, C = 0, 1, 2; "A4" means four tokens of A are computed in the step.
#include "simulator/engine/contiguous_kv.hpp"

#include <gmock/gmock.h>

#include "simulator/engine/admission.hpp"
#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Engine reserving(KvReservation reservation, std::int64_t max_model_len = 0) {
  Engine engine = plain_engine();
  engine.kv_reservation = reservation;
  engine.max_model_len = max_model_len;
  return engine;
}

TEST(FreeRanges, TheSmallestThatFitsIsTaken) {
  FreeRanges ranges(20);
  EXPECT_EQ(ranges.take(6), 0);
  EXPECT_EQ(ranges.take(2), 6);
  EXPECT_EQ(ranges.take(3), 8);
  EXPECT_EQ(ranges.take(2), 11);  // left: 13 to 19
  ranges.give_back(0, 6);
  ranges.give_back(8, 3);
  // Free: 0 to 5, 8 to 10, 13 to 19. Three fit best at 8, six at 0, and nothing holds eight.
  EXPECT_EQ(ranges.in_shorter(6), 3);
  EXPECT_EQ(ranges.in_shorter(8), 16);
  EXPECT_FALSE(ranges.fits(8));
  EXPECT_EQ(ranges.take(8), std::nullopt);
  EXPECT_EQ(ranges.take(3), 8);
  EXPECT_EQ(ranges.take(6), 0);
}

TEST(FreeRanges, NeighboursJoin) {
  FreeRanges ranges(9);
  for (const std::int64_t first : {0, 3, 6}) EXPECT_EQ(ranges.take(3), first);
  EXPECT_FALSE(ranges.fits(1));
  ranges.give_back(0, 3);
  ranges.give_back(6, 3);
  EXPECT_FALSE(ranges.fits(4));
  ranges.give_back(3, 3);
  EXPECT_EQ(ranges.take(9), 0);
}

TEST(ReservedTokens, AreThoseOfTheThreeOrcas) {
  // Kwon et al., section 6.1: an output of 25 tokens reserves 32 with Pow2.
  EXPECT_EQ(reserved_tokens(reserving(KvReservation::oracle), 100, 25), 125);
  EXPECT_EQ(reserved_tokens(reserving(KvReservation::pow2), 100, 25), 132);
  EXPECT_EQ(reserved_tokens(reserving(KvReservation::pow2), 100, 32), 132);
  EXPECT_EQ(reserved_tokens(reserving(KvReservation::pow2, 130), 100, 25), 130);
  EXPECT_EQ(reserved_tokens(reserving(KvReservation::max, 2048), 100, 25), 2048);
  EXPECT_EQ(reserved_tokens(reserving(KvReservation::paged, 2048), 100, 25), 0);
}

TEST(ReservedTokens, HaveRoomForDrafts) {
  Engine engine = reserving(KvReservation::oracle);
  engine.speculation = {.method = DraftMethod::ngram, .draft_tokens = 3};
  // A decode verifies three drafts after its own token.
  EXPECT_EQ(reserved_tokens(engine, 10, 5), 15 + 3 + engine.speculation.lookahead());
}

/// Ten slots, four requests at once. A reserves 2 + 2 = 4 slots (0 to 3), B 1 + 3 = 4 (4 to 7), C
/// 1 + 1 = 2 (8 and 9), and D, which needs 3 + 3 = 6, waits.
Workload four() { return batch_of({{2, 2}, {1, 3}, {1, 1}, {3, 3}}); }

TEST(ContiguousKv, WaitsForARangeThoughEnoughSlotsAreFree) {
  // C ends in step 1, A in step 2. In step 3 slots 0 to 3 and 8 to 9 are free: six, as many as D
  // needs, but not in one range. B ends; D runs alone.
  Schedule contiguous(reserving(KvReservation::oracle), 10, 1, four());
  EXPECT_THAT(contiguous.steps_to_end(), ElementsAre("A2 B1 C1", "A1 B1", "B1", "D3", "D1", "D1"));
  // Paged, all four start at once: 2 + 1 + 1 + 3 = 7 slots, then 3 + 2 + 4 = 9, then 3 + 5 = 8.
  Schedule paged(reserving(KvReservation::paged), 10, 1, four());
  EXPECT_THAT(paged.steps_to_end(), ElementsAre("A2 B1 C1 D3", "A1 B1 D1", "B1 D1"));
}

TEST(ContiguousKv, TheWasteOfTheWorkedExample) {
  // Steps of a second. Used: 10, 8, 4, 6, 6, 6 of 10 slots. Computed: 4, 3 + 2, 3, 3, 4, 5, so
  // empty: 6, 3, 1, 3, 2, 1. The last token of a request is never fed back, so one slot of each is
  // never filled: 3, 2, 1, 1, 1, 1. While D waits, free slots in ranges shorter than 6: 0, 2, 6.
  const FakeStepTime step_time(Seconds{1});
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const SimulationResult result =
        simulate(replica_of(reserving(KvReservation::oracle), step_time, 10, 1), four(),
                 {.engine_kind = kind});
    EXPECT_DOUBLE_EQ(result.makespan.value, 6);
    EXPECT_DOUBLE_EQ(result.use.mean_kv_use, 40 / 60.0);
    EXPECT_DOUBLE_EQ(result.use.mean_kv_empty, 16 / 60.0);
    EXPECT_DOUBLE_EQ(result.use.peak_kv_empty, 0.6);
    EXPECT_DOUBLE_EQ(result.use.mean_kv_unused, 9 / 60.0);
    EXPECT_DOUBLE_EQ(result.use.mean_kv_stranded, 8 / 60.0);
    const SimulationResult paged =
        simulate(replica_of(reserving(KvReservation::paged), step_time, 10, 1), four(),
                 {.engine_kind = kind});
    EXPECT_DOUBLE_EQ(paged.makespan.value, 3);
    EXPECT_DOUBLE_EQ(paged.use.mean_kv_use, 24 / 30.0);
    EXPECT_DOUBLE_EQ(paged.use.mean_kv_empty, 0);
    EXPECT_DOUBLE_EQ(paged.use.mean_kv_stranded, 0);
  }
}

TEST(ContiguousKv, ReservesTheLongestSequenceForEach) {
  // 20 slots, up to 8 a request: two at once, and four slots are never used, since a third needs 8.
  const Workload workload = batch_of({{2, 2}, {2, 2}, {2, 2}});
  const Engine engine = reserving(KvReservation::max, 8);
  EXPECT_THAT(Schedule(engine, 20, 1, workload).steps_to_end(),
              ElementsAre("A2 B2", "A1 B1", "C2", "C1"));
  const FakeStepTime step_time(Seconds{1});
  const SimulationResult result = simulate(replica_of(engine, step_time, 20, 1), workload, {});
  // Empty: 16 - 4, 16 - 6, 8 - 2, 8 - 3; of them never filled, beyond 3 tokens each: 10, 10, 5, 5.
  // C waits for two steps beside the four slots.
  EXPECT_DOUBLE_EQ(result.use.mean_kv_empty, (12 + 10 + 6 + 5) / 80.0);
  EXPECT_DOUBLE_EQ(result.use.mean_kv_unused, 30 / 80.0);
  EXPECT_DOUBLE_EQ(result.use.mean_kv_stranded, 8 / 80.0);
}

TEST(ContiguousKv, WhatNoRangeCanHoldIsRejected) {
  const FakeStepTime step_time(Seconds{1});
  const Replica replica = replica_of(reserving(KvReservation::max, 30), step_time, 20, 1);
  std::vector<RequestRecord> records = records_of(batch_of({{2, 2}}));
  EXPECT_EQ(reject_impossible(records, replica).size(), 1U);
  EXPECT_TRUE(records[0].rejected);
}

TEST(PagedKv, TheLastBlockIsWhatIsEmpty) {
  // Blocks of 4; 6 tokens in, 4 out. Computed 6, 7, 8 and 9 in 2, 2, 2 and 3 blocks of 4: empty
  // 2, 1, 0 and 3 slots of 16.
  const FakeStepTime step_time(Seconds{1});
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const SimulationResult result = simulate(replica_of(plain_engine(), step_time, 4, 4),
                                             batch_of({{6, 4}}), {.engine_kind = kind});
    EXPECT_DOUBLE_EQ(result.use.mean_kv_use, 9 / 16.0);
    EXPECT_DOUBLE_EQ(result.use.mean_kv_empty, 6 / 64.0);
    EXPECT_DOUBLE_EQ(result.use.peak_kv_empty, 3 / 16.0);
    EXPECT_DOUBLE_EQ(result.use.mean_kv_unused, 0);
  }
}

}  // namespace
}  // namespace roofcast::test
