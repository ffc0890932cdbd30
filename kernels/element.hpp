// Storage formats of kernel operands, and their conversion on the host. Rounding is to nearest,
// ties to even, as the GPU's conversion instructions do. No library types, so that results are the
// same on every machine and the loops that use them vectorise.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace roofcast::kernels {

enum class Element { fp32, fp16, bf16 };

constexpr std::size_t size_of(Element element) { return element == Element::fp32 ? 4 : 2; }

struct Bf16 {
  std::uint16_t bits = 0;
};
struct Fp16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(float value) { return value; }

constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr float to_float(Fp16 value) {
  constexpr float kRebias = 0x1p112F;  // fp32 bias 127 less fp16 bias 15
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const float finite = std::bit_cast<float>(magnitude << 13) * kRebias;
  const std::uint32_t infinite_or_nan = 0x7f800000U | (magnitude << 13);
  const std::uint32_t bits =
      magnitude >= 0x7c00U ? infinite_or_nan : std::bit_cast<std::uint32_t>(finite);
  return std::bit_cast<float>(bits | sign);
}

/// Rounds a float to the element type.
template <class T>
constexpr T from_float(float value);

template <>
constexpr float from_float<float>(float value) {
  return value;
}

template <>
constexpr Bf16 from_float<Bf16>(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t quiet_nan = bits | 0x00400000U;
  return {static_cast<std::uint16_t>((nan ? quiet_nan : rounded) >> 16)};
}

template <>
constexpr Fp16 from_float<Fp16>(float value) {
  constexpr float kOverflow = 65520.0F;  // halfway from the largest fp16, 65504, to the next step
  constexpr float kSmallestNormal = 0x1p-14F;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude_bits = bits & 0x7fffffffU;
  const float magnitude = std::bit_cast<float>(magnitude_bits);
  if (magnitude_bits > 0x7f800000U) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  if (magnitude >= kOverflow) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  std::uint32_t half = 0;
  if (magnitude < kSmallestNormal) {
    // Subnormal fp16 step by 2^-24, and so do floats in [0.5, 1): the addition rounds.
    half = std::bit_cast<std::uint32_t>(magnitude + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    const std::uint32_t rounded = magnitude_bits + 0xfffU + ((magnitude_bits >> 13) & 1U);
    half = (rounded >> 13) - ((127U - 15U) << 10);
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

/// Largest relative error of rounding a number in the normal range: half a unit in the last place.
constexpr double rounding_error(Element element) {
  switch (element) {
    case Element::fp32:
      return 0x1p-24;
    case Element::fp16:
      return 0x1p-11;
    case Element::bf16:
      return 0x1p-8;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace roofcast::kernels
