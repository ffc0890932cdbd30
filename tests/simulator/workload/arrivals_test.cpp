#include "simulator/workload/arrivals.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "simulator/workload/varying_rate.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Constant gaps, so that times can be worked out by hand.
SyntheticWorkload evenly(std::int64_t requests, const RatePattern& pattern) {
  return {.num_prompts = requests, .burstiness = kInfinity, .pattern = pattern};
}

std::vector<Nanoseconds> times_of(const SyntheticWorkload& spec, std::uint64_t seed = 1) {
  return draw_arrivals(spec, seed).times;
}

std::int64_t count_between(const std::vector<Nanoseconds>& times, double from_s, double to_s) {
  return std::count_if(times.begin(), times.end(), [&](Nanoseconds time) {
    const double seconds = to_seconds(time).value;
    return seconds >= from_s && seconds < to_s;
  });
}

TEST(RampUp, GapsFollowTheRateOfEveryRequest) {
  // Rates 1, 2, 3: gaps of 1, 1/2 and 1/3 s.
  const RampUp linear{.strategy = RampUp::Strategy::linear, .start = 1, .end = 3};
  EXPECT_THAT(times_of(evenly(3, linear)), ElementsAre(kSecond, 1'500'000'000, 1'833'333'333));
  // Rates 1, 2, 4.
  const RampUp exponential{.strategy = RampUp::Strategy::exponential, .start = 1, .end = 4};
  EXPECT_THAT(times_of(evenly(3, exponential)), ElementsAre(kSecond, 1'500'000'000, 1'750'000'000));
}

TEST(RampUp, OneRequestHasTheRateOfTheStart) {
  EXPECT_THAT(times_of(evenly(1, RampUp{.start = 4, .end = 8})), ElementsAre(250'000'000));
}

TEST(RampUp, IsNotRescaled) {
  // Gaps are exponential with mean 1 / rate: the last arrival has the mean sum of 1 / rate, which
  // is n ln(3) / 20 for rates from 10 to 30, 5493.1 s for n = 100,000, and the variance
  // n (1/10 - 1/30) / 20 = 333.3: a deviation of 18.3 s.
  const auto times = times_of({.num_prompts = 100'000, .pattern = RampUp{.start = 10, .end = 30}});
  EXPECT_NEAR(to_seconds(times.back()).value, 5493.1, 4 * 18.3);
  EXPECT_NE(times.back() % kSecond, 0);
}

StagedLoad two_stages() {
  return {{{.rate = 10, .duration = Seconds{60}}, {.rate = 20, .duration = Seconds{30}}}};
}

TEST(Stages, NormalisedHoldRateTimesDurationAndFillTheirTime) {
  const Workload workload = generate({.pattern = two_stages()}, 3);
  ASSERT_EQ(workload.requests.size(), 1200u);
  ASSERT_EQ(workload.stages.size(), 2u);
  EXPECT_EQ(workload.stages[0].name, "10 /s for 60 s");
  EXPECT_EQ(workload.stages[1].name, "20 /s for 30 s");
  EXPECT_EQ(workload.requests[599].stage, 0);
  EXPECT_EQ(workload.requests[599].arrival, 60 * kSecond);
  EXPECT_EQ(workload.requests[600].stage, 1);
  EXPECT_GT(workload.requests[600].arrival, 60 * kSecond);
  EXPECT_EQ(workload.requests[1199].arrival, 90 * kSecond);
}

TEST(Stages, AStageOfAFractionOfARequestIsRoundedDown) {
  // 2.5 /s for 1 s: two requests, the last at 2 / 2.5 s. 0.3 /s for 10 s: three, though the product
  // in floating point may be less.
  const auto arrivals =
      draw_arrivals(evenly(1, StagedLoad{{{.rate = 2.5, .duration = Seconds{1}},
                                          {.rate = 0.3, .duration = Seconds{10}}}}),
                    1);
  EXPECT_THAT(arrivals.per_stage, ElementsAre(2, 3));
  EXPECT_EQ(arrivals.times[1], 800'000'000);
  EXPECT_EQ(arrivals.times[4], 11 * kSecond);
}

TEST(Stages, DrawnOnesHoldWhatArrivesInTheirTime) {
  SyntheticWorkload spec{.normalised = false, .pattern = two_stages()};
  const auto arrivals = draw_arrivals(spec, 5);
  ASSERT_EQ(arrivals.per_stage.size(), 2u);
  // Poisson with mean 600 each: deviation 24.5.
  EXPECT_NEAR(static_cast<double>(arrivals.per_stage[0]), 600, 4 * 24.5);
  EXPECT_NEAR(static_cast<double>(arrivals.per_stage[1]), 600, 4 * 24.5);
  EXPECT_EQ(count_between(arrivals.times, 0, 60), arrivals.per_stage[0]);
  EXPECT_EQ(count_between(arrivals.times, 60, 90), arrivals.per_stage[1]);
}

TEST(Stages, AWarmUpIsNotReported) {
  StagedLoad load = two_stages();
  load.stages[0].warm_up = true;
  const Workload workload = generate({.pattern = load}, 3);
  EXPECT_FALSE(workload.stages[0].reported);
  EXPECT_EQ(workload.stages[0].name, "warm-up, 10 /s for 60 s");
  EXPECT_TRUE(workload.stages[1].reported);
  load.stages[1].warm_up = true;
  EXPECT_THAT([&] { generate({.pattern = load}, 3); },
              ThrowsMessage<Error>(HasSubstr("all requests are warm-up")));
}

TEST(Warmups, TheFirstRequestsAreAStageThatIsNotReported) {
  const Workload workload = generate({.num_prompts = 100, .num_warmups = 10}, 0);
  ASSERT_EQ(workload.stages.size(), 2u);
  EXPECT_EQ(workload.stages[0].name, "warm-up");
  EXPECT_FALSE(workload.stages[0].reported);
  EXPECT_TRUE(workload.stages[1].reported);
  EXPECT_EQ(workload.requests[9].stage, 0);
  EXPECT_EQ(workload.requests[10].stage, 1);
  EXPECT_TRUE(generate({.num_prompts = 100}, 0).stages.empty());
}

TEST(Warmups, AreTakenFromTheFirstStages) {
  // 600 requests of the first stage and 10 of the second warm up.
  const Workload workload = generate({.pattern = two_stages(), .num_warmups = 610}, 0);
  ASSERT_EQ(workload.stages.size(), 3u);
  EXPECT_EQ(workload.requests[609].stage, 0);
  EXPECT_EQ(workload.requests[610].stage, 2);
}

TEST(Warmups, MustLeaveRequestsToReport) {
  EXPECT_THAT([] { generate({.num_prompts = 5, .num_warmups = 5}, 0); },
              ThrowsMessage<Error>(HasSubstr("`num_warmups` is 5")));
}

TEST(Cycle, ArrivalsFallWhereTheIntegralOfTheRateReachesThem) {
  // 2 /s for 1 s, then 9 s of nothing: two requests a cycle, at 0.5 and 1 s.
  const RateCycle bursts{
      {{.rate = 2, .duration = Seconds{1}}, {.rate = 0, .duration = Seconds{9}}}};
  EXPECT_THAT(times_of(evenly(4, bursts)),
              ElementsAre(kSecond / 2, kSecond, 10'500'000'000, 11'000'000'000));
}

TEST(Cycle, AGapMayBeAsLongAsManyCycles) {
  // 0.003 /s for 1 s in every 10 s: a request takes 333 1/3 s of the first phase.
  const RateCycle rare{
      {{.rate = 0.003, .duration = Seconds{1}}, {.rate = 0, .duration = Seconds{9}}}};
  const auto times = times_of(evenly(1, rare));
  EXPECT_NEAR(to_seconds(times[0]).value, 3330 + 1.0 / 3, 1e-6);
}

TEST(Cycle, PoissonCountsFollowTheRates) {
  // 20 /s for 10 s and 2 /s for 10 s, 220 a cycle. In the first 90 cycles the counts are Poisson
  // with means 18,000 and 1,800: deviations 134 and 42.
  const RateCycle on_off{
      {{.rate = 20, .duration = Seconds{10}}, {.rate = 2, .duration = Seconds{10}}}};
  const auto times = times_of({.num_prompts = 22'000, .pattern = on_off}, 8);
  std::int64_t on = 0, off = 0;
  for (int cycle = 0; cycle < 90; ++cycle) {
    on += count_between(times, 20.0 * cycle, 20.0 * cycle + 10);
    off += count_between(times, 20.0 * cycle + 10, 20.0 * cycle + 20);
  }
  EXPECT_NEAR(static_cast<double>(on), 18'000, 4 * 134);
  EXPECT_NEAR(static_cast<double>(off), 1'800, 4 * 42);
}

TEST(Diurnal, ArrivalsFollowTheCosine) {
  // 10 - 10 cos(2 pi t / 100 s): 1000 a period, of which the middle half has 1/2 + 1/pi = 0.8183.
  const DiurnalRate day{.low = 0, .high = 20, .period = Seconds{100}};
  const auto times = times_of({.num_prompts = 100'000, .pattern = day}, 2);
  std::int64_t middle = 0;
  for (int period = 0; period < 90; ++period) {
    middle += count_between(times, 100.0 * period + 25, 100.0 * period + 75);
  }
  const auto all = static_cast<double>(count_between(times, 0, 9000));
  EXPECT_NEAR(all, 90'000, 4 * 300);  // Poisson: sqrt(90,000) = 300
  // sqrt(0.8183 x 0.1817 / 90,000) = 0.00129
  EXPECT_NEAR(static_cast<double>(middle) / all, 0.8183, 4 * 0.00129);
}

TEST(Diurnal, ArrivalsFallWhereTheIntegralOfTheRateReachesThem) {
  // Constant gaps: the integral of 10 - 10 cos(2 pi t / 100 s), 10 t - 500 / pi sin(2 pi t / 100),
  // is k at arrival k, and 1000 a period.
  const DiurnalRate day{.low = 0, .high = 20, .period = Seconds{100}};
  UnitGaps gaps(kInfinity, 1);
  const auto times = diurnal_arrivals(day, 2500, gaps);
  EXPECT_NEAR(to_seconds(times[499]).value, 50, 1e-6);
  EXPECT_NEAR(to_seconds(times[1499]).value, 150, 1e-6);
  const double pi = std::numbers::pi;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double t = to_seconds(times[i]).value;
    ASSERT_NEAR(10 * t - 500 / pi * std::sin(2 * pi * t / 100), static_cast<double>(i + 1), 1e-5);
  }
}

TEST(Diurnal, AGapMayBeAsLongAsManyPeriods) {
  // 0.01 requests a period: a gap takes a hundred of them.
  const DiurnalRate rare{.low = 0.001, .high = 0.001, .period = Seconds{10}};
  UnitGaps gaps(kInfinity, 1);
  const auto times = diurnal_arrivals(rare, 2, gaps);
  EXPECT_NEAR(to_seconds(times[0]).value, 1000, 1e-6);
  EXPECT_NEAR(to_seconds(times[1]).value, 2000, 1e-6);
}

TEST(Diurnal, FewRequestsAtTheFootOfAHighDayAreDrawnAtOnce) {
  // Near 0 the integral is 5e8 (2 pi / 86,400 s)^2 t^3 / 6 = 0.4407 t^3: the first of constant gaps
  // falls at 1.314 s, the eighth at twice that.
  const DiurnalRate day{.low = 0, .high = 1e9};
  UnitGaps gaps(kInfinity, 1);
  const auto times = diurnal_arrivals(day, 8, gaps);
  EXPECT_NEAR(to_seconds(times[0]).value, 1.314, 0.001);
  EXPECT_NEAR(to_seconds(times[7]).value, 2 * to_seconds(times[0]).value, 1e-6);
}

TEST(Arrivals, AscendWhateverThePattern) {
  const StagedLoad stages = two_stages();
  for (const RatePattern& pattern : std::initializer_list<RatePattern>{
           RampUp{.start = 5, .end = 50}, stages, RateCycle{stages.stages},
           DiurnalRate{.low = 1, .high = 9, .period = Seconds{60}}}) {
    const auto times = times_of({.num_prompts = 2000, .pattern = pattern});
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end())) << pattern.index();
    EXPECT_EQ(times, times_of({.num_prompts = 2000, .pattern = pattern})) << pattern.index();
  }
}

TEST(Arrivals, RatesOutOfRangeAreNamed) {
  struct RefusedRate {
    RatePattern pattern;
    const char* message;
  };
  const RateStage good{.rate = 1, .duration = Seconds{10}};
  for (const RefusedRate& c : std::initializer_list<RefusedRate>{
           {RampUp{.start = 0, .end = 5}, "ramp_up.start_rps is 0"},
           {RampUp{.start = 5, .end = std::nan("")}, "ramp_up.end_rps is nan"},
           {RampUp{.start = 1e-9, .end = 1}, "over ten years"},
           {StagedLoad{}, "stages has 0 entries"},
           {StagedLoad{{good, {.rate = -1, .duration = Seconds{1}}}}, "stages[1] is -1 /s"},
           {StagedLoad{{{.rate = 1, .duration = Seconds{0}}}}, "stages[0] is 1 /s for 0"},
           {StagedLoad{{{.rate = 0.01, .duration = Seconds{10}}}}, "stages hold 0.1 requests"},
           {StagedLoad{{{.rate = 1e9, .duration = Seconds{10}}}}, "stages hold 1e+10 requests"},
           {RateCycle{{{.rate = 0, .duration = Seconds{1}}}}, "no phase with a rate above 0"},
           {RateCycle{{{.rate = 1, .duration = Seconds{1}, .warm_up = true}}}, "warm-up"},
           {RateCycle{{good, {.rate = 0, .duration = Seconds{1e9}}}}, "cycle"},
           {DiurnalRate{.low = 3, .high = 2}, "diurnal.low is 3"},
           {DiurnalRate{.low = 0, .high = 0}, "diurnal.high is 0"},
           {DiurnalRate{.low = 0, .high = 1, .period = Seconds{0}}, "diurnal.period_s is 0"}}) {
    EXPECT_THAT([&] { draw_arrivals({.pattern = c.pattern}, 0); },
                ThrowsMessage<Error>(HasSubstr(c.message)));
  }
  EXPECT_THAT(
      [] { draw_arrivals({.burstiness = 2, .pattern = DiurnalRate{.low = 1, .high = 2}}, 0); },
      ThrowsMessage<Error>(HasSubstr("burstiness is 2, expected 1")));
}

TEST(RatePattern, IsReadFromText) {
  EXPECT_EQ(parse_rate_stage("10:60"), (RateStage{.rate = 10, .duration = Seconds{60}}));
  EXPECT_EQ(parse_rate_stage("0.5:30:warm-up"),
            (RateStage{.rate = 0.5, .duration = Seconds{30}, .warm_up = true}));
  EXPECT_EQ(parse_diurnal("2:20"), (DiurnalRate{.low = 2, .high = 20, .period = Seconds{86'400}}));
  EXPECT_EQ(parse_diurnal("2:20:60").period, Seconds{60});
  for (const char* text : {"", "10", "10:", ":60", "10:0", "-1:5", "10:60:cold", "a:b", "1:inf"}) {
    EXPECT_THAT([&] { parse_rate_stage(text); },
                ThrowsMessage<Error>(HasSubstr("expected RATE:SECONDS")))
        << text;
  }
  EXPECT_THAT([] { parse_diurnal("2"); }, ThrowsMessage<Error>(HasSubstr("expected LOW:HIGH")));
}

}  // namespace
}  // namespace roofcast::test
