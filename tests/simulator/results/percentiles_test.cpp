#include "simulator/results/percentiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <cmath>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

Percentiles percentiles_of(const std::vector<Nanoseconds>& values,
                           const std::vector<double>& percents, std::int64_t missing = 0,
                           Percentiles::Source source = Percentiles::Source::values) {
  DurationHistogram counted;
  for (const Nanoseconds value : values) counted.add(value);
  Percentiles percentiles(counted, percents, missing, source);
  if (!percentiles.needs_second_look()) return percentiles;
  for (const Nanoseconds value : values) percentiles.look_at(value);
  percentiles.finish();
  return percentiles;
}

TEST(Percentiles, InterpolateBetweenOrderStatisticsAsNumpyDoes) {
  // Position p / 100 * (n - 1). Of 1, 2, 3, 4 s: p50 at 1.5 is 2.5; p90 at 2.7 is 3.7; p99 at 2.97
  // is 3.97; p0 and p100 are the ends.
  const auto percentiles =
      percentiles_of({4 * kSecond, kSecond, 3 * kSecond, 2 * kSecond}, {0, 50, 90, 99, 100});
  EXPECT_EQ(percentiles.percentile(0), 1);
  EXPECT_DOUBLE_EQ(*percentiles.percentile(50), 2.5);
  EXPECT_DOUBLE_EQ(*percentiles.percentile(90), 3.7);
  EXPECT_DOUBLE_EQ(*percentiles.percentile(99), 3.97);
  EXPECT_EQ(percentiles.percentile(100), 4);
}

TEST(Percentiles, OfOneValueAreThatValue) {
  const auto percentiles = percentiles_of({7 * kSecond}, {1, 50, 99});
  for (const double percent : {1.0, 50.0, 99.0}) EXPECT_EQ(percentiles.percentile(percent), 7);
}

TEST(Percentiles, MissingValuesLieAboveAllOthers) {
  // 1, 2, 3 s and one missing: p50 at 1.5 is 2.5; p90 at 2.7 falls between 3 and the missing one.
  const auto percentiles = percentiles_of({kSecond, 2 * kSecond, 3 * kSecond}, {50, 90}, 1);
  EXPECT_EQ(percentiles.percentile(50), 2.5);
  EXPECT_EQ(percentiles.percentile(90), std::nullopt);
}

TEST(Percentiles, AreExactToTheNanosecondWithinABin) {
  // All of one bin (2^30 and up, 2^20 wide): 2^30, 2^30 + 1, ... The p50 of 101 is the 50th.
  std::vector<Nanoseconds> values;
  for (int i = 0; i <= 100; ++i) values.push_back((1 << 30) + (i * 37) % 101);
  const auto percentiles = percentiles_of(values, {50});
  EXPECT_EQ(percentiles.percentile(50), to_seconds((1 << 30) + 50).value);
}

TEST(Percentiles, AreThoseOfTheSortedValues) {
  // Against sorting, from values that are nearly all equal to values of all magnitudes. Of 1001,
  // p25 is at 250, p75 at 750.
  boost::random::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Nanoseconds> values;
    for (int i = 0; i < 1001; ++i) {
      values.push_back(static_cast<Nanoseconds>(random() >> (1 + random() % 63) >> (round % 40)));
    }
    const auto percentiles = percentiles_of(values, {0, 25, 75, 100});
    std::sort(values.begin(), values.end());
    EXPECT_EQ(percentiles.percentile(0), to_seconds(values.front()).value);
    EXPECT_EQ(percentiles.percentile(25), to_seconds(values[250]).value);
    EXPECT_EQ(percentiles.percentile(75), to_seconds(values[750]).value);
    EXPECT_EQ(percentiles.percentile(100), to_seconds(values.back()).value);
  }
}

TEST(Percentiles, CountedRunsAreTheSameAsTheirListing) {
  // 1, 1, 1, 2, 2, 5 s: p50 at 2.5 between 1 and 2; p90 at 4.5 between 2 and 5.
  DurationHistogram counted;
  const std::vector<std::pair<Nanoseconds, std::int64_t>> runs = {{2, 1}, {1, 3}, {5, 1}, {2, 1}};
  for (const auto& [seconds, count] : runs) counted.add(seconds * kSecond, count);
  Percentiles percentiles(counted, {50, 90}, 0, Percentiles::Source::values);
  for (const auto& [seconds, count] : runs) percentiles.look_at(seconds * kSecond, count);
  percentiles.finish();
  EXPECT_EQ(percentiles.count(), 6);
  EXPECT_DOUBLE_EQ(*percentiles.percentile(50), 1.5);
  EXPECT_DOUBLE_EQ(*percentiles.percentile(90), 3.5);
}

TEST(Percentiles, OfAHistogramAloneAreWithinItsError) {
  // 1, 2, ... 1000 ms and 1 ns more each, so that hardly one is a bin's middle. p90 at 899.1.
  std::vector<Nanoseconds> values;
  for (Nanoseconds i = 1; i <= 1000; ++i) values.push_back(i * 1'000'001);
  const auto percentiles = percentiles_of(values, {50, 90}, 0, Percentiles::Source::histogram);
  EXPECT_FALSE(percentiles.exact());
  const double p90 = 900.1 * 1'000'001e-9;
  EXPECT_NEAR(*percentiles.percentile(90), p90, p90 * DurationHistogram::kRelativeError);
  EXPECT_NE(*percentiles.percentile(90), p90);
}

TEST(Percentiles, AreExactUpToAMillionValues) {
  EXPECT_EQ(Percentiles::source_for(1'000'000), Percentiles::Source::values);
  EXPECT_EQ(Percentiles::source_for(1'000'001), Percentiles::Source::histogram);
}

TEST(Distribution, OfNothingIsEmpty) {
  const auto distribution = distribution_of(percentiles_of({}, distribution_percents()));
  EXPECT_EQ(distribution.count, 0);
  EXPECT_EQ(distribution.max, 0);
}

TEST(Distribution, SaysWhetherItIsExact) {
  const std::vector<Nanoseconds> values = {kSecond, 3 * kSecond};
  const auto exact = distribution_of(percentiles_of(values, distribution_percents()));
  EXPECT_TRUE(exact.exact);
  EXPECT_EQ(exact.p50, 2);
  const auto counted = distribution_of(
      percentiles_of(values, distribution_percents(), 0, Percentiles::Source::histogram));
  EXPECT_FALSE(counted.exact);
  EXPECT_EQ(counted.mean, 2);
  EXPECT_EQ(counted.min, 1);
  EXPECT_EQ(counted.max, 3);
}

}  // namespace
}  // namespace roofcast::test
