// The search on known verdicts, and on a queue with known waiting times.
#include "planner/capacity/capacity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <cmath>
#include <utility>

#include "planner/load/offered_load.hpp"
#include "simulator/random.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

LoadPoint point_at(double load, SloVerdict verdict) {
  LoadPoint point;
  point.load = load;
  point.verdict = std::move(verdict);
  return point;
}

/// A trial whose loads hold as a function decides, and which counts them.
struct Known {
  std::function<bool(double)> holds;
  int tried = 0;

  std::vector<LoadPoint> operator()(std::span<const double> loads) {
    std::vector<LoadPoint> points;
    for (const double load : loads) {
      points.push_back(point_at(load, {.holds = holds(load)}));
      ++tried;
    }
    return points;
  }
};

CapacitySearch question_between(double min, double guess, double greatest) {
  return {.min = min, .guess = guess, .greatest = greatest};
}

TEST(Capacity, IsFoundWithinTheToleranceFromAnyGuess) {
  for (const double guess : {0.02, 1.0, 3.0, 4.0, 90.0}) {
    SCOPED_TRACE(guess);
    Known known{[](double load) { return load <= 3.7; }};
    const Capacity capacity = find_capacity(std::ref(known), question_between(0.01, guess, 100));
    ASSERT_TRUE(capacity.load);
    EXPECT_LE(*capacity.load, 3.7);
    EXPECT_GE(*capacity.load * 1.01, 3.7);
    EXPECT_TRUE(capacity.bounded);
    EXPECT_TRUE(capacity.monotone);
    EXPECT_EQ(point_of(capacity).load, *capacity.load);
  }
}

TEST(Capacity, AGoodGuessTakesNineTrials) {
  // Two around the guess, a factor of 2 apart, and log2(ln 2 / ln 1.01) = 6.1: seven cuts.
  Known known{[](double load) { return load <= 3.7; }};
  find_capacity(std::ref(known), question_between(0.01, 5, 100));
  EXPECT_EQ(known.tried, 2 + 7);
}

TEST(Capacity, MoreLoadsARoundFindTheSame) {
  for (const int at_once : {1, 2, 3, 8}) {
    SCOPED_TRACE(at_once);
    Known known{[](double load) { return load <= 3.7; }};
    CapacitySearch question = question_between(0.01, 5, 100);
    question.at_once = at_once;
    const double load = find_capacity(std::ref(known), question).load.value();
    EXPECT_LE(load, 3.7);
    EXPECT_GE(load * 1.01, 3.7);
  }
}

TEST(Capacity, OfWholeNumbersIsExact) {
  for (const double max : {1.0, 2.0, 3.0, 17.0, 255.0}) {
    SCOPED_TRACE(max);
    Known known{[&](double load) { return load <= max; }};
    CapacitySearch question = question_between(1, 8, 256);
    question.whole = true;
    question.tolerance = 1e-9;
    EXPECT_EQ(find_capacity(std::ref(known), question).load, max);
  }
}

TEST(Capacity, IsNothingWhereEvenTheLeastLoadFails) {
  Known known{[](double) { return false; }};
  const Capacity capacity = find_capacity(std::ref(known), question_between(0.01, 1, 100));
  EXPECT_FALSE(capacity.load);
  EXPECT_TRUE(capacity.monotone);
  EXPECT_EQ(point_of(capacity).load, 0.01);
}

TEST(Capacity, IsUnboundedWhereTheGreatestLoadHolds) {
  Known known{[](double) { return true; }};
  const Capacity capacity = find_capacity(std::ref(known), question_between(0.01, 1, 100));
  EXPECT_EQ(capacity.load, 100);
  EXPECT_FALSE(capacity.bounded);
}

TEST(Capacity, AHoleBelowIsWhereItEndsAndIsSaid) {
  // Holds to 2 and from 3 to 5. The guess 2.4 tries 1.2 and 2.4, which fails: the end is 2.
  Known known{[](double load) { return load <= 2 || (load >= 3 && load <= 5); }};
  const Capacity below = find_capacity(std::ref(known), question_between(0.01, 2.4, 100));
  EXPECT_NEAR(below.load.value(), 2, 0.02);
  // The guess 8 tries 4, which holds, and 8; three cuts of 1 to 4 ... of the next rounds stay
  // above.
  CapacitySearch wide = question_between(0.01, 8, 100);
  const Capacity above = find_capacity(std::ref(known), wide);
  EXPECT_NEAR(above.load.value(), 5, 0.05);
  EXPECT_TRUE(above.monotone);  // of what was tried
}

TEST(Capacity, LoadsBeyondAFailingOneThatHoldAreSaid) {
  // 1 fails, 2 holds: the search goes down from 1.
  Known known{[](double load) { return load <= 0.3 || (load >= 1.5 && load <= 2.5); }};
  const Capacity capacity = find_capacity(std::ref(known), question_between(0.01, 2, 100));
  EXPECT_NEAR(capacity.load.value(), 0.3, 0.003);
  EXPECT_FALSE(capacity.monotone);
}

TEST(Capacity, AnUndecidedLoadBelowOneThatHoldsIsCarried) {
  // Holds to 5, but chance leaves 2 to 3 undecided.
  Known known{[](double load) { return load <= 5; }};
  const LoadTrial trial = [&](std::span<const double> loads) {
    std::vector<LoadPoint> points = known(loads);
    for (LoadPoint& point : points) {
      if (point.load < 2 || point.load > 3) continue;
      point.verdict = {.holds = false,
                       .undecided = true,
                       .binding = Binding::undecided,
                       .worst_margin = kMarginUndecided};
    }
    return points;
  };
  CapacitySearch search = question_between(0.01, 4, 100);
  search.also = {2.5};
  const Capacity capacity = find_capacity(trial, search);
  EXPECT_NEAR(capacity.load.value(), 5, 0.05);
  EXPECT_TRUE(capacity.monotone);
}

TEST(Capacity, OfASmoothMarginTakesFewerTrials) {
  // A latency of 1 / (10 - load), the waiting time of M/M/1 at 10 a second, within 0.2: up to 5.
  int tried = 0;
  const LoadTrial trial = [&](std::span<const double> loads) {
    std::vector<LoadPoint> points;
    for (const double load : loads) {
      const double latency = load < 10 ? 1 / (10 - load) : 10;
      const double margin = std::max(-1.0, 1 - latency / 0.2);
      points.push_back(point_at(load, {.holds = margin >= 0, .worst_margin = margin}));
      ++tried;
    }
    return points;
  };
  CapacitySearch search = question_between(0.01, 6, 100);
  search.stride = 1.25;
  const Capacity capacity = find_capacity(trial, search);
  EXPECT_LE(capacity.load.value(), 5);
  EXPECT_GE(*capacity.load * 1.01, 5);
  // Bisection: two, and log2(ln 1.25 / ln 1.01) = 4.5 for the bracket of 4.8 to 6.
  EXPECT_LT(tried, 2 + 5);
}

// ---- one server, one second per request

SimulationResult serve(const Workload& workload, const Slo& slo) {
  const FakeStepTime step_time(Seconds{1});
  Engine engine = plain_engine();
  engine.max_num_seqs = 1;
  return simulate(roomy_replica(engine, step_time), workload, {.slo = slo});
}

double capacity_of_one_server(const Workload& unit_rate, const PercentileTarget& target) {
  const LoadTrial trial = [&](std::span<const double> loads) {
    std::vector<LoadPoint> points;
    for (const double load : loads) {
      const SimulationResult result = serve(at_factor(unit_rate, load), {.targets = {target}});
      points.push_back(load_point(load, result, {}));
    }
    return points;
  };
  CapacitySearch question = question_between(0.01, 1, 100);
  question.tolerance = 1e-4;
  return find_capacity(trial, question).load.value_or(0);
}

Workload arrivals(std::int64_t requests, const std::function<double()>& gap_s) {
  Workload workload;
  double now = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    workload.requests.push_back(
        {.arrival = to_nanoseconds(Seconds{now}), .input_tokens = 1, .output_tokens = 1});
    now += gap_s();
  }
  return workload;
}

TEST(Capacity, OfEvenlySpacedRequestsIsWhereTheLineGrowsTooLong) {
  // Gaps g < 1 s: request i waits i (1 - g), so of 101 requests the median TTFT is 1 + 50 (1 - g),
  // at most 2 s while g >= 0.98: 1 / 0.98 a second.
  const double capacity = capacity_of_one_server(
      arrivals(101, [] { return 1.0; }),
      {.metric = LatencyMetric::ttft, .percentile = 50, .limit = Seconds{2}});
  EXPECT_NEAR(capacity, 1 / 0.98, 1.1e-4 / 0.98);
}

/// 90th percentile of the waits of one server (linear between order statistics). Each wait follows
/// from the previous one: Lindley 1952, equation 1.
double p90_wait_by_lindley(const Workload& workload) {
  std::vector<double> waits = {0};
  for (std::size_t i = 1; i < workload.requests.size(); ++i) {
    const Request& before = workload.requests[i - 1];
    const double gap = to_seconds(workload.requests[i].arrival - before.arrival).value;
    waits.push_back(std::max(0.0, waits.back() + 1 - gap));
  }
  std::sort(waits.begin(), waits.end());
  const double place = 0.9 * static_cast<double>(waits.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  return waits[below] + (place - std::floor(place)) * (waits[below + 1] - waits[below]);
}

TEST(Capacity, OfPoissonArrivalsIsWhereLindleysWaitsReachTheLimit) {
  RandomStream random = random_stream(3, "gaps");
  boost::random::exponential_distribution<double> exponential;
  const Workload unit_rate = arrivals(4001, [&] { return exponential(random); });
  const double capacity = capacity_of_one_server(
      unit_rate, {.metric = LatencyMetric::ttft, .percentile = 90, .limit = Seconds{4}});
  // TTFT is the wait and a second of service; waits grow with the rate.
  EXPECT_LE(p90_wait_by_lindley(at_factor(unit_rate, capacity)), 3 + 1e-6);
  EXPECT_GT(p90_wait_by_lindley(at_factor(unit_rate, capacity * 1.0002)), 3);
  // In the long run P(W > 3) = 0.1 at rho = 0.694 and grows by 0.87 a unit of rho (M/D/1: Erlang
  // 1909). Waits forget after about 2 rho / (1 - rho)^2 = 15 services, 10 arrivals, so of 4,000 the
  // share beyond 3 s has the variance 0.1 * 0.9 * 2 * 10 / 4000, the capacity a standard deviation
  // of 0.024: three of them.
  EXPECT_NEAR(capacity, 0.694, 0.073);
}

TEST(Capacity, EndsAtSaturationWhereNothingIsPromised) {
  // Served one a second, the backlog grows by 1 - 1 / rate of what arrives beyond that rate. An
  // engine keeps up with growth below 1 %, so the capacity is between 1 and 1 / (1 - 0.01).
  const LoadTrial trial = [&](std::span<const double> loads) {
    std::vector<LoadPoint> points;
    const Workload workload = arrivals(4001, [] { return 1.0; });
    for (const double load : loads) {
      points.push_back(load_point(load, serve(at_factor(workload, load), {}), {}));
    }
    return points;
  };
  const Capacity capacity = find_capacity(trial, question_between(0.01, 3, 100));
  EXPECT_GE(capacity.load.value(), 0.99);  // the search brackets within a percent
  EXPECT_LE(capacity.load.value(), 1 / (1 - 0.01));
}

}  // namespace
}  // namespace roofcast::test
