// exp() from arithmetic only, so that loops over it vectorise, unlike those over the C library's.
#pragma once

#include <bit>
#include <cstdint>

namespace roofcast::kernels::cpu {

/// e^x to within 2 units in the last place, for x from -64 to 64. x is clamped to this range, where
/// e^-64 is 2e-28, negligible relative to 1, and e^64 is 6e27, by which other numbers can be
/// divided without becoming subnormal, which costs processors a hundred cycles. Not for NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^x = 2^n e^r, and the Taylor polynomial of degree 7 omits
/// r^8 / 8! < 2^-27 of e^r.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float kMax = 64;
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts; n times the first is exact (Cody and Waite, Software Manual for the
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
  // 2^n: the exponent field of a float with a bias of 127.
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127);
  return sum * std::bit_cast<float>(exponent << 23);
}

}  // namespace roofcast::kernels::cpu
