// Vectors of N floats, and loads that widen each storage format to them. Plain C++ with the
// compiler's vector types: the target attribute (kernels/cpu/isa.hpp) of the function into which
// this is inlined determines the instructions. Everything here must therefore be inlined, and
// vectors are passed by reference, because passing them by value also depends on the target.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/element.hpp"

#define ROOFCAST_INLINE [[gnu::always_inline]] inline

/// Loops over registers: they must be unrolled before the compiler assigns arrays to registers.
#define ROOFCAST_UNROLL _Pragma("GCC unroll 16")

namespace roofcast::kernels::cpu {

template <class T, int N>
struct VectorOf {
  // NOLINTNEXTLINE(modernize-use-using): not every compiler accepts the attribute on a `using`
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, int N>
using Vector = typename VectorOf<T, N>::type;

template <int N>
using Floats = Vector<float, N>;
template <int N>
using Ints = Vector<std::int32_t, N>;
template <int N>
using Words = Vector<std::uint32_t, N>;

template <class To, class From>
ROOFCAST_INLINE void copy_bits(To& to, const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  std::memcpy(&to, &from, sizeof(To));
}

/// Widens N narrow integers to 32 bits. GCC 12 would use four or more instructions where AVX2 and
/// AVX-512 have one, and would split conversions from bytes into scalars; clang chooses the single
/// one by itself.
template <int N>
ROOFCAST_INLINE void extend(Words<N>& to, const Vector<std::uint16_t, N>& from) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (N >= 8) {
    asm("vpmovzxwd %1, %0" : "=v"(to) : "vm"(from));
    return;
  }
#endif
  to = __builtin_convertvector(from, Words<N>);
}
template <int N>
ROOFCAST_INLINE void extend(Words<N>& to, const Vector<std::uint8_t, N>& from) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (N >= 8) {
    asm("vpmovzxbd %1, %0" : "=v"(to) : "vm"(from));
    return;
  }
#endif
  to = __builtin_convertvector(__builtin_convertvector(from, Vector<std::uint16_t, N>), Words<N>);
}
template <int N>
ROOFCAST_INLINE void extend(Ints<N>& to, const Vector<std::int8_t, N>& from) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (N >= 8) {
    asm("vpmovsxbd %1, %0" : "=v"(to) : "vm"(from));
    return;
  }
#endif
  to = __builtin_convertvector(__builtin_convertvector(from, Vector<std::int16_t, N>), Ints<N>);
}

// ---- loads: N elements from `from`, as floats. The arithmetic is that of kernels/element.hpp.

template <int N>
ROOFCAST_INLINE void load(Floats<N>& to, const float* from) {
  std::memcpy(&to, from, sizeof to);
}

template <int N>
ROOFCAST_INLINE void load(Floats<N>& to, const Bf16* from) {
  Vector<std::uint16_t, N> bits;
  std::memcpy(&bits, from, sizeof bits);
  Words<N> wide;
  extend<N>(wide, bits);
  wide <<= 16;
  copy_bits(to, wide);
}

/// A narrow float whose exponent and mantissa, without the sign, are in the low bits of
/// `magnitude`. kMantissa: bits of the mantissa; kBias: of the exponent; kSpecial: the smallest
/// magnitude that is not a number, and `special` what it becomes. Subnormal inputs are read as
/// 1.mantissa, and the 1 is subtracted, so that no subnormal floats occur, which cost the processor
/// a hundred cycles.
template <int N, int kMantissa, int kBias, std::uint32_t kSpecial>
ROOFCAST_INLINE void widen_float(Floats<N>& to, const Words<N>& magnitude, const Words<N>& special,
                                 const Words<N>& sign) {
  constexpr std::uint32_t kRebias = 127 - kBias;
  constexpr float kSmallestNormal = std::bit_cast<float>((kRebias + 1) << 23);
  const Words<N> subnormal = reinterpret_cast<Words<N>>(magnitude < (1U << kMantissa));
  Words<N> bits = (magnitude << (23 - kMantissa)) + (kRebias << 23) + (subnormal & (1U << 23));
  const Words<N> one = subnormal & std::bit_cast<std::uint32_t>(kSmallestNormal);
  Floats<N> value;
  Floats<N> taken_off;
  copy_bits(value, bits);
  copy_bits(taken_off, one);
  value -= taken_off;
  copy_bits(bits, value);
  const Words<N> is_special = reinterpret_cast<Words<N>>(magnitude >= kSpecial);
  bits = (is_special & special) | (~is_special & bits) | sign;
  copy_bits(to, bits);
}

/// One instruction of F16C, which every set with vectors of 8 or more floats includes; it also
/// makes subnormal numbers normal at full speed.
template <int N>
ROOFCAST_INLINE void load(Floats<N>& to, const Fp16* from) {
  Vector<std::uint16_t, N> bits;
  std::memcpy(&bits, from, sizeof bits);
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (N >= 8) {
    asm("vcvtph2ps %1, %0" : "=v"(to) : "vm"(bits));
    return;
  }
#endif
  Words<N> wide;
  extend<N>(wide, bits);
  const Words<N> magnitude = wide & 0x7fffU;
  widen_float<N, 10, 15, 0x7c00U>(to, magnitude, 0x7f800000U | (magnitude << 13),
                                  (wide & 0x8000U) << 16);
}

template <int N>
ROOFCAST_INLINE void load(Floats<N>& to, const Fp8E4M3* from) {
  Vector<std::uint8_t, N> bits;
  std::memcpy(&bits, from, sizeof bits);
  Words<N> wide;
  extend<N>(wide, bits);
  const Words<N> magnitude = wide & 0x7fU;
  widen_float<N, 3, 7, 0x7fU>(to, magnitude, Words<N>{} + 0x7fc00000U, (wide & 0x80U) << 24);
}

template <int N>
ROOFCAST_INLINE void load(Floats<N>& to, const std::int8_t* from) {
  Vector<std::int8_t, N> bits;
  std::memcpy(&bits, from, sizeof bits);
  Ints<N> wide;
  extend<N>(wide, bits);
  to = __builtin_convertvector(wide, Floats<N>);
}

/// Loads the first `count` < N elements and fills with zeros; reads only these elements.
template <int N, class T>
ROOFCAST_INLINE void load_some(Floats<N>& to, const T* from, std::int64_t count) {
  T buffer[N] = {};
  std::memcpy(buffer, from, static_cast<std::size_t>(count) * sizeof(T));
  load<N>(to, buffer);
}

/// Widens `count` elements to `to` and writes zeros up to `padded`, a multiple of N.
template <int N, class T>
ROOFCAST_INLINE void widen(float* to, const T* from, std::int64_t count, std::int64_t padded) {
  std::int64_t i = 0;
  Floats<N> value;
  for (; i + N <= count; i += N) {
    load<N>(value, from + i);
    std::memcpy(to + i, &value, sizeof value);
  }
  for (; i < padded; i += N) {
    load_some<N>(value, from + i, count > i ? count - i : 0);
    std::memcpy(to + i, &value, sizeof value);
  }
}

// ---- sums of lanes: add the halves of a vector, then the halves of the result, and so on

/// Source of lane `lane` in one level of sum_each(): the lower halves of all segments of two
/// vectors, concatenated.
template <std::size_t kLanes>
constexpr std::size_t lower_half(std::size_t lane, std::size_t segment) {
  const std::size_t half = segment / 2;
  const std::size_t in_vector = lane % (kLanes / 2);
  return lane / (kLanes / 2) * kLanes + in_vector / half * segment + in_vector % half;
}

template <std::size_t kSegment, class V, std::size_t... kLane>
ROOFCAST_INLINE void add_halves(V& to, const V& a, const V& b, std::index_sequence<kLane...>) {
  constexpr std::size_t kLanes = sizeof...(kLane);
  to = __builtin_shufflevector(a, b, (lower_half<kLanes>(kLane, kSegment))...) +
       __builtin_shufflevector(a, b, (lower_half<kLanes>(kLane, kSegment) + kSegment / 2)...);
}

template <std::size_t kSegment, class T, int N>
ROOFCAST_INLINE void sum_segments(Vector<T, N>* vectors) {
  if constexpr (kSegment > 1) {
    ROOFCAST_UNROLL
    for (std::size_t i = 0; i < kSegment / 2; ++i) {
      add_halves<kSegment>(vectors[i], vectors[2 * i], vectors[2 * i + 1],
                           std::make_index_sequence<N>());
    }
    sum_segments<kSegment / 2, T, N>(vectors);
  }
}

/// Lane i of `sums` becomes the sum of the lanes of vectors[i], i < N.
template <class T, int N>
ROOFCAST_INLINE void sum_each(Vector<T, N>& sums, const Vector<T, N>* vectors) {
  Vector<T, N> left[N];
  ROOFCAST_UNROLL
  for (int i = 0; i < N; ++i) left[i] = vectors[i];
  sum_segments<N, T, N>(left);
  sums = left[0];
}

}  // namespace roofcast::kernels::cpu
