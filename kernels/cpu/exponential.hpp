// exp() as arithmetic alone, so that loops over it vectorise; the C library's cannot be.
#pragma once

#include <bit>
#include <cstdint>

namespace roofcast::kernels::cpu {

/// e^x to within 2 units in the last place, for x from -64 to 64. Below and above it is what e^-64
/// and e^64 are, 2e-28 and 6e27: next to nothing beside 1, and a number by which others can be
/// divided without becoming subnormal, which takes processors a hundred cycles. Not for NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^x = 2^n e^r, and the Taylor polynomial of degree 7 leaves
/// r^8 / 8! < 2^-27 of e^r out.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float kMax = 64;
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts, of which n times the first is exact (Cody and Waite, Software Manual for the
  // Elementary Functions, 1980).
  constexpr float kLn2High = 0x1.62ep-1F;
  constexpr float kLn2Low = 0x1.0bfbe8p-15F;
  constexpr float kWhole = 0x1.8p23F;  // floats near it are whole numbers: adding it rounds
  const float not_above = x > kMax ? kMax : x;
  const float bounded = not_above < -kMax ? -kMax : not_above;
  const float shifted = bounded * kLog2E + kWhole;
  const float n = shifted - kWhole;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float sum = 1.0F / 5040;
  sum = sum * r + 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  // 2^n: the exponent of a float with a bias of 127.
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127);
  return sum * std::bit_cast<float>(exponent << 23);
}

}  // namespace roofcast::kernels::cpu
