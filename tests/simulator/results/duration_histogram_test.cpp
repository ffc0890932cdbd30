#include "simulator/results/duration_histogram.hpp"

#include <gtest/gtest.h>

#include <boost/random/mersenne_twister.hpp>
#include <cmath>
#include <limits>
#include <set>

namespace roofcast::test {
namespace {

constexpr Nanoseconds kLargest = std::numeric_limits<Nanoseconds>::max();

double relative_error(Nanoseconds shown, Nanoseconds value) {
  return std::abs(static_cast<double>(shown - value)) / static_cast<double>(value);
}

/// Values around every power of two and its bins' edges, where the bin index changes.
std::set<Nanoseconds> edges() {
  std::set<Nanoseconds> values = {1, kLargest};
  for (int power = 1; power < 63; ++power) {
    const Nanoseconds base = Nanoseconds{1} << power;
    const Nanoseconds width = power > 10 ? base >> 10 : 1;
    for (const Nanoseconds start :
         {base, base + width, base + base / 2, 2 * (base - 1) + (2 - width)}) {
      for (const Nanoseconds value : {start - 1, start, start + width / 2, start + (width - 1)}) {
        if (value > 0) values.insert(value);
      }
    }
  }
  return values;
}

TEST(DurationHistogram, ABinsMiddleIsWithinTheRelativeErrorOfAllItsValues) {
  for (const Nanoseconds value : edges()) {
    const Nanoseconds shown = DurationHistogram::middle_of(DurationHistogram::bin_of(value));
    EXPECT_LE(relative_error(shown, value), DurationHistogram::kRelativeError) << value;
  }
}

TEST(DurationHistogram, NoValueIsFurtherOffThanOneInTwoThousand) {
  // Widest against its values is the first bin of a doubling, 1024 units of which one is its width:
  // half of one in 1024.
  EXPECT_EQ(DurationHistogram::kRelativeError, 1.0 / 2048);
}

TEST(DurationHistogram, LargerValuesAreNeverInLowerBins) {
  DurationHistogram::Bin last = DurationHistogram::bin_of(0);
  for (const Nanoseconds value : edges()) {
    const DurationHistogram::Bin bin = DurationHistogram::bin_of(value);
    EXPECT_GE(bin, last) << value;
    EXPECT_LE(bin, last + 2 * 1024) << "bins are left out before " << value;
    last = bin;
  }
}

TEST(DurationHistogram, BinsAreKnownByHand) {
  // Up to 2047 the value itself. 4096 = 1024 << 2: two doublings of 1024 bins, then the 1024th.
  // 2^63 - 1 = (2^11 - 1) << 52 and more: 52 * 1024 + 2047, the last of 55,296.
  EXPECT_EQ(DurationHistogram::bin_of(0), 0);
  EXPECT_EQ(DurationHistogram::bin_of(2047), 2047);
  EXPECT_EQ(DurationHistogram::bin_of(2048), 2048);
  EXPECT_EQ(DurationHistogram::bin_of(2049), 2048);
  EXPECT_EQ(DurationHistogram::bin_of(4096), 3072);
  EXPECT_EQ(DurationHistogram::bin_of(kLargest), 55'295);
  EXPECT_EQ(DurationHistogram::kMaxBins, 55'296);
}

TEST(DurationHistogram, KeepsABoundedNumberOfBinsWhateverComes) {
  DurationHistogram histogram;
  boost::random::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    // All magnitudes alike.
    histogram.add(static_cast<Nanoseconds>(random() >> (1 + random() % 63)));
  }
  EXPECT_EQ(histogram.count(), 200'000);
  EXPECT_LE(histogram.bins_kept(), DurationHistogram::kMaxBins);
}

TEST(DurationHistogram, KeepsOnlyTheDoublingsThatOccur) {
  // 2^20 up to 2^21, then 2^23 up to 2^24, then 2^21 up to 2^22: 1024 bins each.
  DurationHistogram histogram;
  histogram.add(1 << 20);
  EXPECT_EQ(histogram.bins_kept(), 1024);
  histogram.add(1 << 23);
  EXPECT_EQ(histogram.bins_kept(), 2 * 1024);
  histogram.add((1 << 20) + 5000);
  EXPECT_EQ(histogram.bins_kept(), 2 * 1024);
  histogram.add((1 << 21) + 5);
  EXPECT_EQ(histogram.bins_kept(), 3 * 1024);
}

TEST(DurationHistogram, CountsMeanAndEndsAreExact) {
  // (3 * 1,000,001 + 5) / 4 ns = 750,002 ns.
  DurationHistogram histogram;
  histogram.add(1'000'001, 3);
  histogram.add(5);
  EXPECT_EQ(histogram.count(), 4);
  EXPECT_DOUBLE_EQ(histogram.mean_s(), 750'002e-9);
  EXPECT_EQ(histogram.min(), 5);
  EXPECT_EQ(histogram.max(), 1'000'001);
}

TEST(DurationHistogram, TheMeanOfManyLongDurationsDoesNotOverflow) {
  // A thousand million of 10^9 s: their sum is a hundred million times 2^63.
  DurationHistogram histogram;
  histogram.add(1'000'000'000'000'000'000, 1'000'000'000);
  EXPECT_DOUBLE_EQ(histogram.mean_s(), 1e9);
}

TEST(DurationHistogram, ValuesStandInAscendingOrder) {
  DurationHistogram histogram;
  histogram.add(300);
  histogram.add(100, 2);
  histogram.add(200);
  EXPECT_EQ(histogram.value_at(0), 100);
  EXPECT_EQ(histogram.value_at(1), 100);
  EXPECT_EQ(histogram.value_at(2), 200);
  EXPECT_EQ(histogram.value_at(3), 300);
}

TEST(DurationHistogram, ShowsNothingBeyondItsEnds) {
  // From 2^30 to 2^31 bins are 2^20 wide. The last value of the first bin lies above its middle,
  // the first of the last bin below.
  const Nanoseconds low = (1 << 30) + (1 << 20) - 1;
  const Nanoseconds high = (Nanoseconds{1} << 31) - (1 << 20);
  DurationHistogram histogram;
  histogram.add(low);
  histogram.add(high);
  EXPECT_EQ(histogram.value_at(0), low);
  EXPECT_EQ(histogram.value_at(1), high);
}

TEST(DurationHistogram, TwoAddedAreOneOfAllValues) {
  DurationHistogram low, high, all;
  for (Nanoseconds value = 1; value < 1'000'000'000; value = value * 3 + 1) {
    (value < 1000 ? low : high).add(value, value % 5 + 1);
    all.add(value, value % 5 + 1);
  }
  DurationHistogram joined = high;
  joined.add(low);
  joined.add(DurationHistogram());
  ASSERT_EQ(joined.count(), all.count());
  EXPECT_EQ(joined.mean_s(), all.mean_s());
  for (std::int64_t rank = 0; rank < all.count(); ++rank) {
    EXPECT_EQ(joined.value_at(rank), all.value_at(rank)) << rank;
  }
}

}  // namespace
}  // namespace roofcast::test
