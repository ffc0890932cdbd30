// Random operands that are the same on every backend: normal value number i of stream `seed`
// depends only on the two, not on the number of threads that generate it.
//
// Values are generated in pairs. A pair takes 64 bits of SplitMix64 (Steele, Lea, Flood, OOPSLA
// 2014), whose output number p is a hash of seed and p, and converts them to two normal values by
// Box and Muller (Annals of Mathematical Statistics 29, 1958). No absolute value exceeds sqrt(48 ln
// 2) = 5.77. Logarithm, sine and cosine are branch-free polynomials, so that loops vectorise and
// host and device differ only by fp32 rounding.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ROOFCAST_HOST_DEVICE __host__ __device__ inline
#else
#define ROOFCAST_HOST_DEVICE [[gnu::always_inline]] inline
#endif

namespace roofcast::kernels {

/// Values 2 p and 2 p + 1 of a stream.
struct NormalPair {
  float first = 0;
  float second = 0;
};

namespace normal_detail {

/// The output function of SplitMix64.
ROOFCAST_HOST_DEVICE std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

/// Natural logarithm of u in [2^-24, 1]: u = 2^e m with m in [sqrt(1/2), sqrt(2)), and ln m = 2
/// atanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1), |s| < 0.172: the first
/// omitted term is below 2^-28 of the sum.
ROOFCAST_HOST_DEVICE float logarithm(float u) {
  constexpr std::uint32_t kSqrtHalf = 0x3f3504f3U;  // the bits of sqrt(1/2)
  constexpr float kLn2 = 0.693147181F;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &u, sizeof bits);
  bits -= kSqrtHalf;
  const std::int32_t exponent = static_cast<std::int32_t>(bits) >> 23;
  bits = (bits & 0x007fffffU) + kSqrtHalf;
  float m = 0;
  std::memcpy(&m, &bits, sizeof m);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  const float series = 1.0F + z * (1.0F / 3 + z * (1.0F / 5 + z * (1.0F / 7 + z * (1.0F / 9))));
  return static_cast<float>(exponent) * kLn2 + 2.0F * s * series;
}

/// Cosine and sine of 2 pi u, u in [0, 1): after subtracting the nearest quarter turn q, Taylor
/// polynomials cover the rest, |x| <= pi / 4, with an error below 2^-24.
ROOFCAST_HOST_DEVICE NormalPair cosine_and_sine(float u) {
  constexpr float kHalfPi = 1.57079633F;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): the same on host and device; u is below 1
  const auto q = static_cast<std::int32_t>(u * 4.0F + 0.5F);
  const float x = (u * 4.0F - static_cast<float>(q)) * kHalfPi;
  const float z = x * x;
  const float sine =
      x * (1 + z * (-1.0F / 6 + z * (1.0F / 120 + z * (-1.0F / 5040 + z * (1.0F / 362880)))));
  const float cosine =
      1 + z * (-1.0F / 2 + z * (1.0F / 24 + z * (-1.0F / 720 + z * (1.0F / 40320))));
  const bool odd = (q & 1) != 0;
  const float c = odd ? sine : cosine;
  const float s = odd ? cosine : sine;
  return {((q + 1) & 2) != 0 ? -c : c, (q & 2) != 0 ? -s : s};
}

}  // namespace normal_detail

/// Standard normal values 2 `pair` and 2 `pair` + 1 of the stream `seed`.
ROOFCAST_HOST_DEVICE NormalPair normal_pair(std::uint64_t seed, std::uint64_t pair) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;  // SplitMix64's: 2^64 over the golden ratio
  constexpr float kUnit = 0x1p-24F;
  // Hash the seed before adding the counter, so that streams of nearby seeds do not overlap.
  const std::uint64_t bits = normal_detail::mix(normal_detail::mix(seed + kStep) + pair * kStep);
  const auto high = static_cast<std::int32_t>(bits >> 40);
  const auto low = static_cast<std::int32_t>((bits >> 8) & 0xffffffU);
  const float radius =
      sqrtf(-2.0F * normal_detail::logarithm(static_cast<float>(high + 1) * kUnit));
  const NormalPair turn = normal_detail::cosine_and_sine(static_cast<float>(low) * kUnit);
  return {radius * turn.first, radius * turn.second};
}

}  // namespace roofcast::kernels
