#include "calibrate/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "calibrate/cases.hpp"
#include "tests/calibrate/fake_backend.hpp"

namespace roofcast {
namespace {

using test::FakeBackend;
using testing::HasSubstr;

CalibrationCase gemm(double tokens, const std::string& kernel = "fake 1.0") {
  return {
      .kind = CaseKind::gemm,
      .shape = {.family = OperatorFamily::gemm, .format = "bf16", .outputs = 4096, .inputs = 4096},
      .x = tokens,
      .kernel = kernel};
}

std::vector<CalibrationCase> gemms(int count) {
  std::vector<CalibrationCase> cases;
  for (int i = 1; i <= count; ++i) cases.push_back(gemm(i));
  return cases;
}

/// A sweep on the fake device, whose clock is the device's own time.
class SweepTest : public testing::Test {
 protected:
  SweepResult run(const std::vector<CalibrationCase>& cases, const SweepOptions& options = {}) {
    SweepPlan plan{.ceilings = ceiling_cases(*backend, 80e9),
                   .sentinel = sentinel_case(*backend),
                   .cases = cases,
                   .known = known};
    TimingProtocol protocol;
    protocol.warm_up_s = 1e-3;
    Timer timer(*backend, protocol, [](double) {});
    Operands operands(*backend, protocol, 60e9);
    SweepHooks used = hooks;
    used.now_s = [this] { return backend->elapsed_s(); };
    return run_sweep(timer, operands, plan, options, used);
  }

  void make(test::FakeDevice device) { backend = std::make_unique<FakeBackend>(std::move(device)); }

  std::unique_ptr<FakeBackend> backend = std::make_unique<FakeBackend>();
  std::map<std::string, Timing> known{};
  SweepHooks hooks{};
};

int curves_in(const SweepResult& result) {
  int count = 0;
  for (const TimedCase& timed : result.timed) count += timed.c.role == CaseRole::curve ? 1 : 0;
  return count;
}

TEST_F(SweepTest, TimesEveryCaseAndTheCeilingsFirst) {
  std::vector<std::string> order;
  hooks.on_timed = [&](const TimedCase& timed) { order.push_back(family_of(timed.c)); };
  const SweepResult result = run(gemms(5));
  EXPECT_EQ(result.end, SweepEnd::complete);
  EXPECT_EQ(curves_in(result), 5);
  EXPECT_EQ(order.front(), "launch");
  EXPECT_EQ(order.back(), "sentinel");
  // 2 us + 33.6 MB / 4 TB/s + 8 kB of input from the cache.
  for (const TimedCase& timed : result.timed) {
    if (timed.c.role != CaseRole::curve || timed.c.x > 1) continue;
    EXPECT_NEAR(timed.timing.statistics.median, 2e-6 + 4096.0 * 4096 * 2 / 4e12, 1e-8);
  }
}

TEST_F(SweepTest, TheBudgetEndsItBetweenTwoCases) {
  // A point takes a few ms: warm-up, guesses and ten samples of 200 us.
  const SweepResult result = run(gemms(1000), {.budget_s = 0.2});
  EXPECT_EQ(result.end, SweepEnd::out_of_time);
  EXPECT_GT(curves_in(result), 10);
  EXPECT_EQ(result.not_reached, 1000 - curves_in(result));
  EXPECT_LT(backend->elapsed_s(), 0.25);
}

TEST_F(SweepTest, TheSentinelComesBackAndShowsTheDrift) {
  // The device gets slower by half over its first 3,000 replays.
  make({.slow_down = [](std::int64_t i) {
    return 1.0 + 0.5 * std::min(1.0, static_cast<double>(i) / 3000.0);
  }});
  const SweepResult result = run(gemms(25), {.sentinel_every = 10});
  ASSERT_EQ(result.drift.size(), 4u);  // before, after 10 and 20, at the end
  EXPECT_GT(result.drift.back().seconds, result.drift.front().seconds * 1.02);
  for (std::size_t i = 1; i < result.drift.size(); ++i) {
    EXPECT_GE(result.drift[i].seconds, result.drift[i - 1].seconds);
  }
}

TEST_F(SweepTest, BimodalPointsAreTimedAgainAtTheEndInReverseOrder) {
  // Up to replay 1,500 every second replay takes 1.5 times as long.
  make({.slow_down = [](std::int64_t i) { return i < 1500 && i % 2 == 0 ? 1.5 : 1.0; }});
  std::vector<double> again;
  hooks.on_timed = [&](const TimedCase& timed) {
    if (timed.again && timed.c.role == CaseRole::curve) again.push_back(timed.c.x);
  };
  const SweepResult result = run(gemms(20));
  ASSERT_GE(again.size(), 2u);
  EXPECT_TRUE(std::is_sorted(again.rbegin(), again.rend()));
  for (const TimedCase& timed : result.timed) {
    EXPECT_FALSE(timed.timing.statistics.bimodal) << name_of(timed.c);
  }
}

TEST_F(SweepTest, WhatTakesTooLongIsLeftOutWithAllLargerSizes) {
  // 2 * 4096^2 FLOPs a token at 400 TFLOP/s: 8192 tokens take 0.7 ms, 32768 take 2.7 ms.
  const SweepResult result = run({gemm(8192), gemm(32768), gemm(65536)}, {.max_call_s = 1e-3});
  EXPECT_EQ(curves_in(result), 1);
  ASSERT_EQ(result.too_long.size(), 2u);
  EXPECT_THAT(result.too_long[0], HasSubstr("tokens=32768"));
}

TEST_F(SweepTest, AnInterruptKeepsWhatWasTimed) {
  hooks.go_on = [](int done, int) { return done < 10; };
  const SweepResult result = run(gemms(50));
  EXPECT_EQ(result.end, SweepEnd::interrupted);
  EXPECT_EQ(result.timed.size(), 11u);  // with the sentinel
}

Timing timing_of(double seconds) {
  Timing timing;
  timing.statistics.median = seconds;
  return timing;
}

TEST_F(SweepTest, ASourceThatIsSlowerByFarIsNotTimedAtLargerSizes) {
  const auto slow = [](double tokens) { return gemm(tokens, "slow 1.0"); };
  // Twice as long at 1 token, five times as long at 8.
  known = {{name_of(gemm(1)), timing_of(1e-5)},
           {name_of(slow(1)), timing_of(2e-5)},
           {name_of(gemm(8)), timing_of(1e-5)},
           {name_of(slow(8)), timing_of(5e-5)}};
  const SweepResult result =
      run({gemm(1), slow(1), gemm(8), slow(8), slow(4), slow(16), gemm(16)}, {.outrun = 3});
  EXPECT_EQ(result.outrun, 1);  // 16 tokens; 4 lie above 1 only
  EXPECT_EQ(curves_in(result), 6);
  EXPECT_EQ(run({gemm(8), slow(8), slow(16)}).outrun, 0);  // not requested
}

TEST_F(SweepTest, KnownCasesAreNotTimedAgain) {
  Timing timing;
  timing.samples = {{.seconds = 1.0}};
  timing.statistics = summarise(std::vector<double>{1.0});
  for (int i = 1; i <= 3; ++i) known[name_of(gemm(i))] = timing;
  int timed = 0;
  hooks.on_timed = [&](const TimedCase& t) { timed += t.c.role == CaseRole::curve ? 1 : 0; };
  const SweepResult result = run(gemms(5), {.max_call_s = 10});
  EXPECT_EQ(timed, 2);
  EXPECT_EQ(curves_in(result), 5);
}

TEST_F(SweepTest, ACaseThatFailsIsNotedAndTheOthersGoOn) {
  CalibrationCase broken = gemm(7);
  broken.shape.outputs = std::int64_t{1} << 30;  // 8 TB of weight
  const SweepResult result = run({gemm(1), broken, gemm(2)}, {.max_call_s = 1e9});
  EXPECT_EQ(curves_in(result), 2);
  ASSERT_EQ(result.failed.size(), 1u);
  EXPECT_THAT(result.failed[0], HasSubstr("of device memory"));
}

TEST_F(SweepTest, SizesWithoutAKernelAreNoFailureOfTheDevice) {
  std::vector<CalibrationCase> broken = gemms(20);
  for (CalibrationCase& c : broken) c.shape.outputs = std::int64_t{1} << 30;
  EXPECT_EQ(run(broken, {.max_call_s = 1e9}).failed.size(), 20u);
}

TEST_F(SweepTest, ALibraryThatRefusesManyCasesInARowCostsTheseAlone) {
  make({.refused_family = "int4_gemm"});
  std::vector<CalibrationCase> cases = gemms(20);
  for (std::size_t i = 0; i < 12; ++i) cases[i].shape.format = "int4";
  const SweepResult result = run(cases);
  EXPECT_EQ(result.end, SweepEnd::complete);
  EXPECT_EQ(curves_in(result), 8);
  ASSERT_EQ(result.failed.size(), 12U);
  EXPECT_THAT(result.failed.front(), HasSubstr("cannot do int4_gemm"));
}

TEST_F(SweepTest, ADeviceThatIsLostIsNoCasesFault) {
  make({.slow_down = [](std::int64_t replay) {
    if (replay > 500) throw std::runtime_error("device lost");
    return 1.0;
  }});
  int timed = 0;
  hooks.on_timed = [&](const TimedCase&) { ++timed; };
  const SweepResult result = run(gemms(100));
  EXPECT_EQ(result.end, SweepEnd::device_lost);
  EXPECT_EQ(result.fault, "device lost");
  EXPECT_GT(timed, 5);
  EXPECT_EQ(static_cast<int>(result.timed.size()), timed);
  EXPECT_LT(result.failed.size(), 10U);  // it stops asking
}

TEST_F(SweepTest, ADeviceThatIsLostAtTheVeryEndIsLostToo) {
  // The same sweep twice; the second time the device dies in its last replay, of the sentinel.
  run(gemms(1));
  const std::int64_t replays = backend->replays();
  make({.slow_down = [replays](std::int64_t replay) {
    if (replay >= replays - 1) throw std::runtime_error("device lost");
    return 1.0;
  }});
  const SweepResult result = run(gemms(1));
  EXPECT_EQ(result.end, SweepEnd::device_lost);
  EXPECT_EQ(curves_in(result), 1);
}

}  // namespace
}  // namespace roofcast
