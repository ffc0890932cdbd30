// Storage formats of kernel operands and their conversion on the host. Rounds to nearest, ties to
// even, like the GPU's conversion instructions. Without library types, so that results are the same
// on every machine and loops over them vectorise.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace roofcast::kernels {

enum class Element { fp32, fp16, bf16, fp8_e4m3, int8 };

constexpr std::size_t size_of(Element element) {
  if (element == Element::fp32) return 4;
  return element == Element::fp16 || element == Element::bf16 ? 2 : 1;
}

/// "fp32", "bf16", "fp8_e4m3", ...
constexpr std::string_view name_of(Element element) {
  switch (element) {
    case Element::fp32:
      return "fp32";
    case Element::fp16:
      return "fp16";
    case Element::bf16:
      return "bf16";
    case Element::fp8_e4m3:
      return "fp8_e4m3";
    case Element::int8:
      return "int8";
  }
  return "";
}

struct Bf16 {
  std::uint16_t bits = 0;
};
struct Fp16 {
  std::uint16_t bits = 0;
};
/// 1 sign, 4 exponent (bias 7) and 3 mantissa bits; no infinities, NaN is 0x7f and 0xff, the
/// largest number 448 (OCP 8-bit Floating Point Specification 1.0, table 1).
struct Fp8E4M3 {
  std::uint8_t bits = 0;
};

constexpr float to_float(float value) { return value; }

constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr float to_float(Fp16 value) {
  constexpr float kRebias = 0x1p112F;  // fp32 bias 127 minus fp16 bias 15
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const float finite = std::bit_cast<float>(magnitude << 13) * kRebias;
  const std::uint32_t infinite_or_nan = 0x7f800000U | (magnitude << 13);
  const std::uint32_t bits =
      magnitude >= 0x7c00U ? infinite_or_nan : std::bit_cast<std::uint32_t>(finite);
  return std::bit_cast<float>(bits | sign);
}

constexpr float to_float(Fp8E4M3 value) {
  constexpr float kRebias = 0x1p120F;  // fp32 bias 127 minus fp8 bias 7
  const std::uint32_t magnitude = value.bits & 0x7fU;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x80U) << 24;
  const float finite = std::bit_cast<float>(magnitude << 20) * kRebias;
  const std::uint32_t bits =
      magnitude == 0x7fU ? 0x7fc00000U : std::bit_cast<std::uint32_t>(finite);
  return std::bit_cast<float>(bits | sign);
}

constexpr float to_float(std::int8_t value) { return value; }

/// Rounds a float to the element type; fp8 and int8 saturate, like the GPU's conversions.
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
    // Subnormal fp16 have steps of 2^-24, as do floats in [0.5, 1): the addition rounds.
    half = std::bit_cast<std::uint32_t>(magnitude + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    const std::uint32_t rounded = magnitude_bits + 0xfffU + ((magnitude_bits >> 13) & 1U);
    half = (rounded >> 13) - ((127U - 15U) << 10);
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

template <>
constexpr Fp8E4M3 from_float<Fp8E4M3>(float value) {
  constexpr float kLargest = 448.0F;
  constexpr float kSmallestNormal = 0x1p-6F;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude_bits = bits & 0x7fffffffU;
  const float magnitude = std::bit_cast<float>(magnitude_bits);
  if (magnitude_bits > 0x7f800000U) return {static_cast<std::uint8_t>(sign | 0x7fU)};
  if (magnitude >= kLargest) return {static_cast<std::uint8_t>(sign | 0x7eU)};
  std::uint32_t eight = 0;
  if (magnitude < kSmallestNormal) {
    // Subnormal fp8 have steps of 2^-9, as do floats in [2^14, 2^15): the addition rounds.
    constexpr float kStep = 0x1p14F;
    eight = std::bit_cast<std::uint32_t>(magnitude + kStep) - std::bit_cast<std::uint32_t>(kStep);
  } else {
    const std::uint32_t rounded = magnitude_bits + 0x7ffffU + ((magnitude_bits >> 20) & 1U);
    eight = (rounded >> 20) - ((127U - 7U) << 3);
  }
  return {static_cast<std::uint8_t>(sign | eight)};
}

template <>
constexpr std::int8_t from_float<std::int8_t>(float value) {
  constexpr float kLargest = 127.0F;
  constexpr float kSmallest = -128.0F;
  // Floats between 2^23 and 2^24 are whole numbers: the addition rounds, ties to even.
  constexpr float kWhole = 0x1.8p23F;
  if (!(value > kSmallest)) return -128;
  if (value >= kLargest) return 127;
  return static_cast<std::int8_t>(value + kWhole - kWhole);
}

}  // namespace roofcast::kernels
