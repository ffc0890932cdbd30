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

TEST(Element, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(to_float(from_float<Fp16>(nan))));
  EXPECT_TRUE(std::isnan(to_float(from_float<Bf16>(nan))));
}

}  // namespace
}  // namespace roofcast::kernels
