#include "base/numbers.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace roofcast {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Numbers, SeparateThousands) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(-1234567), "-1,234,567");
  EXPECT_EQ(with_separators(std::numeric_limits<std::int64_t>::min()),
            "-9,223,372,036,854,775,808");
}

TEST(Numbers, FixedRoundsToItsDecimals) {
  EXPECT_EQ(fixed(12.345678, 2), "12.35");
  EXPECT_EQ(fixed(1234567.25, 1), "1,234,567.2");  // a tie goes to the even digit
  EXPECT_EQ(fixed(999.95001, 1), "1,000.0");
  EXPECT_EQ(fixed(41.5, 0), "42");
  EXPECT_EQ(fixed(-1234.5, 1), "-1,234.5");
}

TEST(Numbers, FixedNeverShowsMinusZero) {
  EXPECT_EQ(fixed(-0.001, 2), "0.00");
  EXPECT_EQ(fixed(-0.4, 0), "0");
}

TEST(Numbers, InfinityIsAWord) {
  EXPECT_EQ(fixed(kInfinity, 2), "inf");
  EXPECT_EQ(as_time(Seconds{kInfinity}), "inf");
}

TEST(Numbers, BytesTakeTheUnitThatFits) {
  EXPECT_EQ(as_bytes(Bytes{131072}), "131,072 B");
  EXPECT_EQ(as_bytes(Bytes{0}), "0 B");
  EXPECT_EQ(as_bytes(Bytes{1048576}), "1.00 MiB");
  EXPECT_EQ(as_bytes(Bytes{2.46 * kGiB}), "2.46 GiB");
  EXPECT_EQ(as_bytes(Bytes{1024 * kGiB}), "1.00 TiB");
  EXPECT_EQ(as_bytes(Bytes{-2 * kGiB}), "-2.00 GiB");
  // 80e9 / 2^30 = 74.51
  EXPECT_EQ(as_gib(Bytes{80e9}), "74.51 GiB");
}

TEST(Numbers, BytesNeverShow1024OfAUnit) {
  // One byte short of a GiB rounds to 1024.00 MiB, so it is shown in GiB.
  EXPECT_EQ(as_bytes(Bytes{kGiB - 1}), "1.00 GiB");
}

TEST(Numbers, TimesTakeTheUnitThatFits) {
  EXPECT_EQ(as_time(Seconds{0}), "0 s");
  EXPECT_EQ(as_time(Seconds{850e-9}), "850 ns");
  EXPECT_EQ(as_time(Seconds{4.2e-6}), "4.2 us");
  EXPECT_EQ(as_time(Seconds{0.0317}), "31.7 ms");
  EXPECT_EQ(as_time(Seconds{1.24}), "1.24 s");
  EXPECT_EQ(as_time(Seconds{110.26}), "110.3 s");
  EXPECT_EQ(as_time(Seconds{185}), "3 min 05 s");
  EXPECT_EQ(as_time(Seconds{3720}), "1 h 02 min");
  EXPECT_EQ(as_time(Seconds{2 * 86400 + 3 * 3600}), "2 d 03 h");
  EXPECT_EQ(as_time(Seconds{-0.0317}), "-31.7 ms");
}

TEST(Numbers, TimesThatRoundUpTakeTheNextUnit) {
  EXPECT_EQ(as_time(Seconds{999.96e-6}), "1.0 ms");
  EXPECT_EQ(as_time(Seconds{0.99996}), "1.00 s");
  EXPECT_EQ(as_time(Seconds{239.7}), "4 min 00 s");
  EXPECT_EQ(as_time(Seconds{3599.7}), "1 h 00 min");
  EXPECT_EQ(as_time(Seconds{86399}), "1 d 00 h");
}

TEST(Numbers, RatesAndShares) {
  EXPECT_EQ(as_percent(0.1234), "12.3 %");
  EXPECT_EQ(as_percent(0.99995, 2), "100.00 %");  // 99.995: the nearest double is just above
  EXPECT_EQ(as_rate(FlopsPerSecond{989.4e12}), "989.4 TFLOP/s");
  EXPECT_EQ(as_rate(FlopsPerSecond{9e15}), "9,000.0 TFLOP/s");
  EXPECT_EQ(as_rate(FlopsPerSecond{38.4e9}), "38.4 GFLOP/s");
  EXPECT_EQ(as_rate(BytesPerSecond{4.8e12}), "4.80 TB/s");
  EXPECT_EQ(as_rate(BytesPerSecond{900e9}), "900.0 GB/s");
  EXPECT_EQ(as_rate(BytesPerSecond{12.5e6}), "12.5 MB/s");
}

TEST(Numbers, ParametersAreCountedInBillions) {
  EXPECT_EQ(printed::parameters(8'030'261'248).text, "8.03 B");
  EXPECT_EQ(printed::parameters(124'439'808).text, "124.44 M");
  EXPECT_EQ(printed::parameters(999'999).text, "999,999");
  EXPECT_EQ(printed::parameters(999'999'999).text, "1.00 B");
  EXPECT_EQ(printed::parameters(1'026'408'232'448).text, "1.03 T");
}

TEST(Numbers, RangesOfTimesHaveTheUnitOfWhatTheyStandBelow) {
  EXPECT_EQ(as_time_range(Seconds{39.1e-3}, Seconds{44e-3}, Seconds{41e-3}), "39.1-44.0");
  EXPECT_EQ(as_time_range(Seconds{890e-6}, Seconds{1.2e-3}, Seconds{1e-3}), "0.9-1.2");
  EXPECT_EQ(as_time_range(Seconds{0.9918}, Seconds{1.28}, Seconds{1.12}), "0.99-1.28");
  EXPECT_EQ(as_time_range(Seconds{185}, Seconds{245}, Seconds{200}), "3 min 05 s-4 min 05 s");
}

TEST(Numbers, ProbabilitiesAreNeverCertain) {
  EXPECT_EQ(as_probability(0.9734), "97.3 %");
  EXPECT_EQ(as_probability(0.99995), "over 99.9 %");
  EXPECT_EQ(as_probability(0.0001), "under 0.1 %");
}

}  // namespace
}  // namespace roofcast
