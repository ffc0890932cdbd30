#include "simulator/results/level_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

std::int64_t max_running(const LevelTimeline& timeline) {
  std::int64_t max = 0;
  for (const Levels& levels : timeline.max()) max = std::max(max, levels.running);
  return max;
}

TEST(LevelTimeline, HoldsTheMostOfEachStretch) {
  // Stretches of 1 ms: 5 run until 0.5 ms and then 2, until 2.5 ms.
  LevelTimeline timeline;
  timeline.record(0, {.running = 5, .waiting = 1, .kv_use = 0.5});
  timeline.record(kMillisecond / 2, {.running = 2, .waiting = 3, .kv_use = 0.25});
  timeline.end(kMillisecond * 5 / 2);
  ASSERT_EQ(timeline.stretch(), kMillisecond);
  ASSERT_EQ(timeline.max().size(), 3U);
  EXPECT_EQ(timeline.max()[0].running, 5);
  EXPECT_EQ(timeline.max()[0].waiting, 3);
  EXPECT_EQ(timeline.max()[0].kv_use, 0.5);
  EXPECT_EQ(timeline.max()[1].running, 2);
  EXPECT_EQ(timeline.max()[2].running, 2);
}

TEST(LevelTimeline, ForgetsWhatComesAndGoesInTheSameMoment) {
  LevelTimeline timeline;
  timeline.record(0, {.running = 1});
  timeline.record(kMillisecond, {.running = 99});
  timeline.record(kMillisecond, {.running = 2});
  timeline.end(2 * kMillisecond);
  ASSERT_EQ(timeline.max().size(), 2U);
  EXPECT_EQ(timeline.max()[1].running, 2);
}

TEST(LevelTimeline, KeepsItsPeaksAsItsStretchesGrow) {
  // 1000 s in stretches of 1 ms would be a million; 2^12 ms = 4.096 s makes it 245.
  LevelTimeline timeline;
  timeline.record(0, {.running = 1});
  timeline.record(300 * kSecond, {.running = 7});
  timeline.record(300 * kSecond + kMillisecond, {.running = 1});
  timeline.end(1000 * kSecond);
  EXPECT_LE(timeline.max().size(), LevelTimeline::kMaxStretches);
  EXPECT_EQ(timeline.stretch(), 4096 * kMillisecond);
  EXPECT_EQ(timeline.max().size(), 245U);
  // 300 s / 4.096 s = 73.2
  EXPECT_EQ(timeline.max()[73].running, 7);
  EXPECT_EQ(timeline.max()[72].running, 1);
  EXPECT_EQ(timeline.max()[74].running, 1);
}

TEST(LevelTimeline, OfARunTellsItsPeaksAndChangesNothingOfIt) {
  // Two of three requests fit the batch: two run and one waits, then that one runs.
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.max_num_seqs = 2;
  const Replica replica = replica_of(engine, step_time, 100, 16);
  const Workload workload = batch_of({{16, 3}, {16, 3}, {16, 3}});
  LevelTimeline timeline;
  const SimulationResult recorded = simulate(replica, workload, {.levels = &timeline});
  const SimulationResult plain = simulate(replica, workload, {});
  EXPECT_EQ(recorded.requests.back().finished, plain.requests.back().finished);
  EXPECT_EQ(max_running(timeline), plain.use.peak_running);
  EXPECT_EQ(max_running(timeline), 2);
  EXPECT_EQ(timeline.max().front().waiting, 1);
  // The last request alone: 16 + 2 tokens cached in its last step, 2 of 100 blocks.
  EXPECT_EQ(timeline.max().back().running, 1);
  EXPECT_EQ(timeline.max().back().waiting, 0);
  EXPECT_DOUBLE_EQ(timeline.max().back().kv_use, 0.02);
}

}  // namespace
}  // namespace roofcast::test
