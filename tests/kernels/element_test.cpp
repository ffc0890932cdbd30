#include "kernels/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace roofcast::kernels {
namespace {

TEST(Element, Bf16RoundsToNearestTiesToEven) {
  // bf16 has 8 significant bits: around 1 it steps by 2^-7.
  EXPECT_EQ(to_float(from_float<Bf16>(1.0F + 0x1p-8F)), 1.0F);                // tie, even below
  EXPECT_EQ(to_float(from_float<Bf16>(1.0F + 3 * 0x1p-8F)), 1.0F + 0x1p-6F);  // tie, even above
  EXPECT_EQ(to_float(from_float<Bf16>(1.0F + 0x1.02p-8F)), 1.0F + 0x1p-7F);   // past the tie
  EXPECT_EQ(to_float(from_float<Bf16>(-3.0F)), -3.0F);
}

TEST(Element, Fp16RoundsToNearestTiesToEven) {
  // fp16 has 11 significant bits: around 1 it steps by 2^-10.
  EXPECT_EQ(to_float(from_float<Fp16>(1.0F + 0x1p-11F)), 1.0F);
  EXPECT_EQ(to_float(from_float<Fp16>(1.0F + 3 * 0x1p-11F)), 1.0F + 0x1p-9F);
  EXPECT_EQ(to_float(from_float<Fp16>(65504.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(to_float(from_float<Fp16>(65520.0F))));
  EXPECT_EQ(to_float(from_float<Fp16>(65519.0F)), 65504.0F);
}

TEST(Element, Fp16SubnormalsStepBy2ToTheMinus24) {
  EXPECT_EQ(to_float(from_float<Fp16>(0x1p-24F)), 0x1p-24F);
  EXPECT_EQ(to_float(from_float<Fp16>(0x1p-25F)), 0.0F);  // tie, even below
  EXPECT_EQ(to_float(from_float<Fp16>(3 * 0x1p-25F)), 0x1p-23F);
  EXPECT_EQ(to_float(from_float<Fp16>(-0x1p-14F)), -0x1p-14F);
}

TEST(Element, EveryFiniteSixteenBitNumberSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float half = to_float(Fp16{pattern});
    const float brain = to_float(Bf16{pattern});
    EXPECT_TRUE(std::isnan(half) || from_float<Fp16>(half).bits == pattern) << bits;
    EXPECT_TRUE(std::isnan(brain) || from_float<Bf16>(brain).bits == pattern) << bits;
  }
}

TEST(Element, Fp8RoundsToNearestTiesToEvenAndSaturates) {
  // e4m3 has 4 significant bits: around 1 it steps by 2^-3, subnormals by 2^-9.
  const auto round = [](float value) { return to_float(from_float<Fp8E4M3>(value)); };
  EXPECT_EQ(round(1.0F + 0x1p-4F), 1.0F);
  EXPECT_EQ(round(1.0F + 3 * 0x1p-4F), 1.25F);
  EXPECT_EQ(round(0x1p-9F), 0x1p-9F);
  EXPECT_EQ(round(0x1p-10F), 0.0F);
  EXPECT_EQ(round(3 * 0x1p-10F), 0x1p-8F);
  EXPECT_EQ(round(447.0F), 448.0F);
  EXPECT_EQ(round(-1e9F), -448.0F);
  EXPECT_TRUE(std::isnan(to_float(Fp8E4M3{0x7f})));
}

TEST(Element, EveryFp8NumberSurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits <= 0xff; ++bits) {
    const auto pattern = static_cast<std::uint8_t>(bits);
    const float value = to_float(Fp8E4M3{pattern});
    EXPECT_TRUE(std::isnan(value) || from_float<Fp8E4M3>(value).bits == pattern) << bits;
  }
}

TEST(Element, Int8RoundsTiesToEvenAndSaturates) {
  EXPECT_EQ(from_float<std::int8_t>(2.5F), 2);
  EXPECT_EQ(from_float<std::int8_t>(-3.5F), -4);
  EXPECT_EQ(from_float<std::int8_t>(200.0F), 127);
  EXPECT_EQ(from_float<std::int8_t>(-200.0F), -128);
}

TEST(Element, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(to_float(from_float<Fp16>(nan))));
  EXPECT_TRUE(std::isnan(to_float(from_float<Bf16>(nan))));
}

}  // namespace
}  // namespace roofcast::kernels
