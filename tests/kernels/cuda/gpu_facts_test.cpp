#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/clock_reading.hpp"
#include "kernels/cuda/peak_rates.hpp"

namespace roofcast::kernels::cuda {
namespace {

using enum Element;

/// Datasheets round to three digits, clocks included.
constexpr double kDigits = 0.01;

TEST(PeakRates, AreThoseOfTheDatasheets) {
  // A100 SXM: 312 TFLOP/s in 16 bits, 624 TOPS, fp32 19.5 TFLOP/s; no fp8.
  const auto a100 = peak_rates(80, 108, 1.41e9);
  EXPECT_NEAR(a100.at(bf16), 312e12, kDigits * 312e12);
  EXPECT_NEAR(a100.at(int8), 624e12, kDigits * 624e12);
  EXPECT_NEAR(a100.at(fp32), 19.5e12, kDigits * 19.5e12);
  EXPECT_FALSE(a100.contains(fp8_e4m3));
  // H100 SXM: 989 TFLOP/s, fp8 1979, at the clock that the datasheet takes.
  const auto h100 = peak_rates(90, 132, 1.83e9);
  EXPECT_NEAR(h100.at(fp16), 989e12, kDigits * 989e12);
  EXPECT_NEAR(h100.at(fp8_e4m3), 1979e12, kDigits * 1979e12);
  EXPECT_NEAR(h100.at(int8), 1979e12, kDigits * 1979e12);
  // L40S: 362 TFLOP/s, fp8 733; fp32 91.6. B200: 2.25 PFLOP/s. RTX PRO 6000: fp32 126 TFLOP/s.
  const auto l40s = peak_rates(89, 142, 2.52e9);
  EXPECT_NEAR(l40s.at(bf16), 362e12, 0.02 * 362e12);
  EXPECT_NEAR(l40s.at(fp8_e4m3), 733e12, kDigits * 733e12);
  EXPECT_NEAR(l40s.at(fp32), 91.6e12, kDigits * 91.6e12);
  EXPECT_NEAR(peak_rates(100, 148, 1.85e9).at(bf16), 2.25e15, kDigits * 2.25e15);
  EXPECT_NEAR(peak_rates(120, 188, 2.617e9).at(fp32), 126e12, kDigits * 126e12);
}

TEST(PeakRates, AreNotInventedForOtherArchitecturesOrWithoutAClock) {
  EXPECT_TRUE(peak_rates(75, 40, 1.5e9).empty());
  EXPECT_TRUE(peak_rates(90, 132, 0).empty());
}

TEST(PeakBandwidth, CountsBothEdgesOfTheMemoryClock) {
  // H100 SXM: 2 * 2619 MHz * 5120 bits / 8 = 3.35 TB/s. RTX 4090: 2 * 10501 MHz * 384 / 8 = 1008
  // GB/s.
  EXPECT_NEAR(peak_bandwidth(2.619e9, 5120).value(), 3.352e12, 1e9);
  EXPECT_NEAR(peak_bandwidth(10.501e9, 384).value(), 1.008e12, 1e9);
  EXPECT_EQ(peak_bandwidth(0, 384), std::nullopt);
  EXPECT_EQ(peak_bandwidth(1e9, 0), std::nullopt);
}

TEST(MeanClock, IsTheMedianOfTheMultiprocessorsReadTwice) {
  // 150000, 180000 and 210000 cycles in 100000 ns; one was read only before, one only after, one
  // not at all.
  const std::vector<ClockReading> before{{10, 100}, {20, 200}, {30, 300}, {40, 1}, {}, {}};
  const std::vector<ClockReading> after{
      {100010, 150100}, {100020, 180200}, {100030, 210300}, {}, {999999, 9}, {}};
  EXPECT_DOUBLE_EQ(mean_clock_hz(before, after), 1.8e9);
}

TEST(MeanClock, IsNotKnownWithoutReadings) {
  const std::vector<ClockReading> nothing(3);
  EXPECT_EQ(mean_clock_hz(nothing, nothing), 0);
  EXPECT_EQ(mean_clock_hz({}, {}), 0);
}

TEST(MeanClock, IsNotToldOverATimeAsShortAsTheTimersSteps) {
  const std::vector<ClockReading> before{{1000, 0}};
  EXPECT_EQ(mean_clock_hz(before, std::vector<ClockReading>{{3000, 3600}}), 0);
  EXPECT_DOUBLE_EQ(mean_clock_hz(before, std::vector<ClockReading>{{101000, 180000}}), 1.8e9);
}

}  // namespace
}  // namespace roofcast::kernels::cuda
