#include "base/paired_difference.hpp"

#include <gtest/gtest.h>

#include <array>
#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "planner/load/offered_load.hpp"
#include "simulator/random.hpp"
#include "simulator/workload/workload.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast {
namespace {

TEST(PairedDifference, IsTheMeanWithStudentsInterval) {
  // Differences 1, 2 and 3: mean 2, variance 1, standard error 1 / sqrt(3); Student's t of two
  // degrees at 97.5 % is 4.302653 (any table).
  const std::array<double, 3> baseline{10, 20, 30};
  const std::array<double, 3> other{11, 22, 33};
  const Difference difference = paired_difference(baseline, other);
  EXPECT_DOUBLE_EQ(difference.mean, 2);
  EXPECT_NEAR(*difference.low, 2 - 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(*difference.high, 2 + 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_FALSE(difference.significant());
  EXPECT_EQ(difference.samples, 3);
}

TEST(PairedDifference, PairsShareTheirChance) {
  // Values spread over 1 to 100, the change is 1 every time: no doubt about it. Without pairing it
  // would be lost in the spread.
  const std::array<double, 3> baseline{1, 50, 100};
  const std::array<double, 3> other{2, 51, 101};
  EXPECT_TRUE(paired_difference(baseline, other).significant());
  const Difference back = paired_difference(other, baseline);
  EXPECT_TRUE(back.significant());
  EXPECT_DOUBLE_EQ(back.mean, -1);
}

TEST(PairedDifference, NoChangeIsNotSignificantHoweverSure) {
  const std::array<double, 3> values{1, 2, 3};
  const Difference difference = paired_difference(values, values);
  EXPECT_EQ(difference.mean, 0);
  EXPECT_EQ(*difference.low, 0);
  EXPECT_FALSE(difference.significant());
}

TEST(PairedDifference, AChangeThatPrintsAsZeroIsNotSignificantBesideItsBaseline) {
  // 10,004 of 10,000 is 0.04 %, 10,006 is 0.06 %; both are the same with every pair.
  const std::array<double, 3> baseline{10'000, 10'000, 10'000};
  const Difference little =
      paired_difference(baseline, std::array<double, 3>{10'004, 10'004, 10'004});
  EXPECT_TRUE(little.significant());
  EXPECT_FALSE(little.significant_beside(10'000));
  EXPECT_TRUE(little.significant_beside(0));
  const Difference more =
      paired_difference(baseline, std::array<double, 3>{10'006, 10'006, 10'006});
  EXPECT_TRUE(more.significant_beside(10'000));
  const Difference less = paired_difference(baseline, std::array<double, 3>{9'994, 9'994, 9'994});
  EXPECT_TRUE(less.significant_beside(10'000));
  EXPECT_TRUE(less.significant_beside(-10'000));
  // -6 to 18 about 6: however large, not more than chance.
  const Difference chance =
      paired_difference(baseline, std::array<double, 3>{10'000, 10'006, 10'012});
  EXPECT_FALSE(chance.significant_beside(10'000));
}

TEST(PairedDifference, OnePairTellsNoSpread) {
  const std::array<double, 1> baseline{1};
  const std::array<double, 1> other{2};
  const Difference difference = paired_difference(baseline, other);
  EXPECT_EQ(difference.mean, 1);
  EXPECT_FALSE(difference.low);
  EXPECT_FALSE(difference.significant());
  EXPECT_EQ(paired_difference({}, {}).samples, 0);
}

/// Mean wait of a single server with a service time of one second and Poisson arrivals: M/D/1.
double mean_wait(const Workload& workload) {
  const test::FakeStepTime one_second(Seconds{1});
  Engine engine = test::plain_engine();
  engine.max_num_seqs = 1;
  return simulate(test::roomy_replica(engine, one_second), workload, {}).queue.mean;
}

TEST(PairedDifference, OfWaitsAtTwoRatesIsThatOfTheQueue) {
  // Pollaczek and Khinchine: the mean wait is load / (2 (1 - load)) service times, 0.5 s at half
  // load and 2 s at 0.8. Ten seeds give an interval of 95 %; 1.5 s within twice its half width is a
  // matter of 999 in 1000 (Student's t of 9 degrees beyond 4.5). The same arrivals at both rates
  // make it narrower than the two errors in squares.
  constexpr double kHalfLoad = 0.5;
  constexpr double kHighLoad = 0.8;
  std::vector<double> low;
  std::vector<double> high;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SyntheticWorkload load;
    load.num_prompts = 5000;
    load.request_rate = kHalfLoad;
    load.normalised = false;
    load.input = fixed_length(1);
    load.output = fixed_length(1);
    const Workload workload = generate(load, seed);
    low.push_back(mean_wait(workload));
    high.push_back(mean_wait(at_factor(workload, kHighLoad / kHalfLoad)));
  }
  const Difference difference = paired_difference(low, high);
  const double half = *difference.high - difference.mean;
  EXPECT_NEAR(difference.mean, 1.5, 2 * half);
  EXPECT_TRUE(difference.significant());
  const std::vector<double> zeros(low.size(), 0);
  const auto half_of = [&](const std::vector<double>& waits) {
    const Difference one = paired_difference(zeros, waits);
    return *one.high - one.mean;
  };
  EXPECT_LT(half, std::hypot(half_of(low), half_of(high)));
}

RequestValues normal_values(std::int64_t count, double mean, std::uint64_t seed) {
  RandomStream stream = random_stream(seed, "values");
  boost::random::normal_distribution<double> normal(mean, 1);
  RequestValues values;
  for (std::int64_t i = 0; i < count; ++i) values.emplace_back(normal(stream));
  return values;
}

TEST(BlockDifference, PercentilesInterpolateBetweenOrderStatistics) {
  // In 10, 20, 30, 40 the position of p50 is 0.5 * 3 = 1.5: 25; that of p90 is 2.7: 37.
  const RequestValues values{40, std::nullopt, 10, 30, 20};
  EXPECT_DOUBLE_EQ(*statistic_of(values, {.percent = 50}), 25);
  EXPECT_DOUBLE_EQ(*statistic_of(values, {.percent = 90}), 37);
  EXPECT_DOUBLE_EQ(*statistic_of(values, {}), 25);
  EXPECT_FALSE(statistic_of({std::nullopt}, {}));
}

TEST(BlockDifference, OfAMeanIsTheSpreadOfBlockMeans) {
  // 40 requests, two a block; differences are the block's number, 0 to 19, in both of it. Their
  // block means 0 .. 19 have the variance 20 * 21 / 12 = 35, so the standard error is
  // sqrt(35 / 20); the mean is 9.5 and t of 19 degrees 2.093024.
  RequestValues baseline;
  RequestValues other;
  for (int i = 0; i < 40; ++i) {
    baseline.emplace_back(100);
    other.emplace_back(100 + i / 2);
  }
  const auto difference = block_difference(baseline, other, {}, true);
  EXPECT_NEAR(difference->mean, 9.5, 1e-12);
  EXPECT_NEAR(*difference->high - difference->mean, 2.093024 * std::sqrt(35.0 / 20), 1e-5);
  EXPECT_EQ(difference->samples, kBlocks);
}

TEST(BlockDifference, ErrorsOfRunsThatAreNotPairedAddInSquares) {
  // The same blocks on both sides: paired there is no difference, unpaired sqrt(2) times one
  // side's error, sqrt(35 / 20) as above.
  RequestValues values;
  for (int i = 0; i < 40; ++i) values.emplace_back(i / 2);
  const auto paired = block_difference(values, values, {}, true);
  EXPECT_EQ(*paired->high, 0);
  const auto apart = block_difference(values, values, {}, false);
  EXPECT_NEAR(*apart->high, 2.093024 * std::sqrt(2 * 35.0 / 20), 1e-5);
}

TEST(BlockDifference, TooFewRequestsBeyondAPercentileTellNoSpread) {
  // 5 % of 399 are fewer than the 20 blocks, of 400 as many.
  EXPECT_FALSE(
      block_difference(normal_values(399, 0, 1), normal_values(399, 1, 1), {.percent = 95}, true)
          ->low);
  EXPECT_TRUE(
      block_difference(normal_values(400, 0, 1), normal_values(400, 1, 1), {.percent = 95}, true)
          ->low);
  EXPECT_FALSE(block_difference({}, normal_values(400, 1, 1), {}, false));
}

/// Number of 100 intervals for the difference of two p90 that contain the true one, `shift`.
int covered(double shift) {
  constexpr int kRuns = 100;
  constexpr std::int64_t kRequests = 1000;
  int hits = 0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto difference =
        block_difference(normal_values(kRequests, 0, 2 * seed),
                         normal_values(kRequests, shift, 2 * seed + 1), {.percent = 90}, false);
    if (*difference->low <= shift && shift <= *difference->high) ++hits;
  }
  return hits;
}

TEST(BlockDifference, IntervalsHoldTheTruthAsOftenAsTheySay) {
  // The number of 95 % intervals of 100 that hold it is a binomial count of mean 95 and standard
  // deviation 2.2; four of those either way, and 100 at most.
  EXPECT_GE(covered(0.5), 95 - 9);
}

TEST(RequestStatistic, IsAMeanOrAPercentileByName) {
  EXPECT_FALSE(request_statistic("mean")->percent);
  EXPECT_EQ(request_statistic("p99.9")->percent, 99.9);
  for (const char* other : {"max", "value", "p95_difference", "p"}) {
    EXPECT_FALSE(request_statistic(other)) << other;
  }
}

}  // namespace
}  // namespace roofcast
