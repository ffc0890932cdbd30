#include "calibrate/timer.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/calibrate/fake_backend.hpp"

namespace roofcast {
namespace {

using test::FakeBackend;
using test::FakeDevice;

TimingProtocol quick() {
  TimingProtocol protocol;
  protocol.warm_up_s = 1e-3;
  return protocol;
}

void no_pause(double) {}

/// Copies `bytes` from each of `copies` places to a fixed one.
class CopyWork {
 public:
  CopyWork(FakeBackend& backend, std::size_t bytes, int copies)
      : backend_(backend), bytes_(bytes), to_(backend, bytes) {
    for (int i = 0; i < copies; ++i) from_.emplace_back(backend, bytes);
  }
  TimedWork work() {
    return {.copies = static_cast<int>(from_.size()), .launch = [this](int copy) {
              backend_.launch_copy(to_.data(), from_[static_cast<std::size_t>(copy)].data(),
                                   bytes_);
            }};
  }

 private:
  FakeBackend& backend_;
  std::size_t bytes_;
  kernels::Memory to_;
  std::vector<kernels::Memory> from_;
};

TimedWork nothing(FakeBackend& backend) {
  return {.launch = [&backend](int) { backend.launch_nothing(); }};
}

TEST(Timer, FindsTheTimeOfWorkOfKnownLength) {
  FakeBackend backend({.floor_s = 7e-6});
  const Timing timing = Timer(backend, quick()).time(nothing(backend));
  EXPECT_NEAR(timing.statistics.median, 7e-6, 1e-12);
  EXPECT_EQ(timing.stop, StopReason::quiet);
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_EQ(timing.launches, 29);  // ceil(200 us / 7 us)
  EXPECT_DOUBLE_EQ(timing.samples.front().clock_hz, 1.8e9);
}

TEST(Timer, LongWorkIsRecordedOnceAndStopsAtTheTimeBox) {
  // 25 ms a call and 5 % of noise: three samples fill the box of 60 ms.
  FakeBackend backend(
      {.floor_s = 25e-3, .slow_down = [](std::int64_t i) { return i % 2 == 0 ? 0.95 : 1.05; }});
  const Timing timing = Timer(backend, quick()).time(nothing(backend));
  EXPECT_EQ(timing.launches, 1);
  EXPECT_EQ(timing.samples.size(), 3u);
  EXPECT_EQ(timing.stop, StopReason::time_box);
}

TEST(Timer, WarmsUpBeforeItSamples) {
  // The first 20 ms run at half speed; the protocol's 25 ms are over before the first sample.
  FakeBackend* seen = nullptr;
  FakeBackend backend({.floor_s = 50e-6, .slow_down = [&](std::int64_t) {
                         return seen->elapsed_s() < 20e-3 ? 2.0 : 1.0;
                       }});
  seen = &backend;
  const Timing timing = Timer(backend, {}).time(nothing(backend));
  EXPECT_NEAR(timing.statistics.median, 50e-6, 1e-12);
  EXPECT_EQ(timing.stop, StopReason::quiet);
}

TEST(Timer, CopiesAreThreeTimesTheCacheAsFarAsThereIsRoom) {
  const TimingProtocol protocol;
  EXPECT_EQ(copies_for(protocol, 33.5e6, 60e6, 1e12), 6);  // ceil(180 / 33.5)
  EXPECT_EQ(copies_for(protocol, 200e6, 60e6, 1e12), 1);
  EXPECT_EQ(copies_for(protocol, 33.5e6, 60e6, 100e6), 2);  // room for two
  EXPECT_EQ(copies_for(protocol, 33.5e6, 60e6, 1e6), 1);    // and one there must be
  EXPECT_EQ(copies_for(protocol, 4096, 60e6, 1e12), protocol.max_copies);
  EXPECT_EQ(copies_for(protocol, 0, 60e6, 1e12), 1);
}

TEST(Timer, AModelThatFitsTheCacheIsRotatedAsAWhole) {
  TimingProtocol protocol;
  protocol.step_bytes = 90e6;
  EXPECT_EQ(copies_for(protocol, 33.5e6, 60e6, 1e12), 3);  // ceil(90 / 33.5)
  protocol.step_bytes = 900e6;
  EXPECT_EQ(copies_for(protocol, 33.5e6, 60e6, 1e12), 6);  // three times the cache is enough
}

TEST(Timer, RotatedOperandsAreCold) {
  // 20 MB from memory and 20 MB to a place that stays in the cache of 50 MB, at 4 TB/s and four
  // times that: 2 us + (20 + 20 / 4) MB / 4 TB/s = 8.25 us. Eight copies are 160 MB.
  FakeBackend backend{FakeDevice{}};
  CopyWork cold(backend, 20'000'000, 8);
  EXPECT_NEAR(Timer(backend, quick()).time(cold.work()).statistics.median, 8.25e-6, 1e-11);
  // A single source stays in the cache: 2 us + 40 / 4 MB / 4 TB/s = 4.5 us.
  CopyWork warm(backend, 20'000'000, 1);
  EXPECT_NEAR(Timer(backend, quick()).time(warm.work()).statistics.median, 4.5e-6, 1e-11);
}

TEST(Timer, WhatComesBeforeALaunchIsNotCounted) {
  // Each launch of 7 us with three more before it: 28 us a turn, of which 21 are taken off.
  FakeBackend backend({.floor_s = 7e-6});
  TimedWork work = nothing(backend);
  work.before = [&backend] {
    for (int i = 0; i < 3; ++i) backend.launch_nothing();
  };
  const Timing timing = Timer(backend, quick()).time(work);
  EXPECT_NEAR(timing.statistics.median, 7e-6, 1e-12);
  EXPECT_NEAR(timing.samples.front().seconds, 7e-6, 1e-12);
}

TEST(Timer, WhatComesBeforeLaunchesIsTimedOnceForEachName) {
  FakeBackend backend({.floor_s = 7e-6});
  std::int64_t launched = 0;
  TimedWork work = nothing(backend);
  work.before = [&] {
    ++launched;
    backend.launch_nothing();
  };
  work.before_name = "one";
  Timer timer(backend, quick());
  const auto launched_by = [&] {
    launched = 0;
    EXPECT_NEAR(timer.time(work).statistics.median, 7e-6, 1e-12);
    return launched;
  };
  const std::int64_t first = launched_by();
  const std::int64_t again = launched_by();
  EXPECT_LT(again, first);  // recorded with the work only
  work.before_name = "another";
  EXPECT_EQ(launched_by(), first);
}

TEST(Timer, WhatIsLostBesideWhatComesBeforeItHasNoTime) {
  // 25 launches before each of one: a twenty-fifth of their time is below a twentieth.
  FakeBackend backend({.floor_s = 7e-6});
  TimedWork work = nothing(backend);
  work.before = [&backend] {
    for (int i = 0; i < 25; ++i) backend.launch_nothing();
  };
  EXPECT_THROW(Timer(backend, quick()).time(work), std::invalid_argument);
}

TEST(Timer, CopiesThatOneRecordingDoesNotHoldAreSpreadOverSeveral) {
  // 3 ms + 20 MB at 4 TB/s: one launch a recording, eight recordings in turn, all cold.
  FakeBackend backend({.floor_s = 3e-3});
  CopyWork work(backend, 20'000'000, 8);
  const Timing timing = Timer(backend, quick()).time(work.work());
  EXPECT_EQ(timing.launches, 1);
  EXPECT_EQ(timing.recordings, 8);
  EXPECT_NEAR(timing.statistics.median, 3e-3 + 6.25e-6, 1e-10);
}

TEST(Timer, NoiseIsSampledUntilItsEstimateIsStable) {
  std::mt19937 random(17);
  std::normal_distribution<double> normal(1.0, 0.03);
  FakeBackend backend(
      {.floor_s = 10e-6, .slow_down = [&](std::int64_t) { return normal(random); }});
  const Timing timing = Timer(backend, quick()).time(nothing(backend));
  EXPECT_EQ(timing.stop, StopReason::stable_noise);
  EXPECT_GE(timing.samples.size(), 64u);
  // The median of n normal values deviates by 1.25 * 0.03 / sqrt(64) = 0.5 %; five times that.
  EXPECT_NEAR(timing.statistics.median / 10e-6, 1.0, 0.025);
}

TEST(Timer, ThrottledSamplesAreDroppedAndCounted) {
  // After some replays four are at half the clock and take twice as long.
  constexpr std::int64_t kFrom = 12;
  const auto slow = [](std::int64_t i) { return i >= kFrom && i < kFrom + 4; };
  FakeBackend backend({.floor_s = 100e-6,
                       .slow_down = [&](std::int64_t i) { return slow(i) ? 2.0 : 1.0; },
                       .clock = [&](std::int64_t i) { return slow(i) ? 0.9e9 : 1.8e9; }});
  int pauses = 0;
  TimingProtocol protocol = quick();
  protocol.warm_up_s = 0;
  const Timing timing = Timer(backend, protocol, [&](double) { ++pauses; }).time(nothing(backend));
  EXPECT_EQ(timing.dropped(), 4);
  EXPECT_EQ(pauses, 4);
  EXPECT_EQ(timing.samples.size(), 14u);
  EXPECT_FALSE(timing.throttled);
  EXPECT_NEAR(timing.statistics.median, 100e-6, 1e-12);
}

TEST(Timer, AClockThatStaysLowIsTheWorksOwn) {
  // The clock was higher before: a light point, then one that draws all the power there is.
  FakeBackend backend(
      {.floor_s = 100e-6, .clock = [](std::int64_t i) { return i < 30 ? 1.8e9 : 1.2e9; }});
  Timer timer(backend, quick(), no_pause);
  timer.time(nothing(backend));
  while (backend.replays() < 30) timer.time(nothing(backend));
  const Timing timing = timer.time(nothing(backend));
  EXPECT_TRUE(timing.throttled);
  EXPECT_EQ(timing.dropped(), 0);
  EXPECT_NEAR(timing.statistics.median, 100e-6, 1e-12);
  EXPECT_DOUBLE_EQ(timer.highest_clock_hz(), 1.8e9);
}

TEST(Timer, ADeviceThatDoesNotTellItsClockIsNeverThrottled) {
  FakeBackend backend({.floor_s = 100e-6, .clock_hz = 0});
  const Timing timing = Timer(backend, quick(), no_pause).time(nothing(backend));
  EXPECT_EQ(timing.dropped(), 0);
  EXPECT_FALSE(timing.throttled);
}

}  // namespace
}  // namespace roofcast
