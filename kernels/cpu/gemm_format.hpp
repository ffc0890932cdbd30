// How a block of a product (kernels/cpu/gemm_block.hpp) reads its operands: one struct per weight
// format, over vectors of N lanes. The input is first copied to a panel, in the form that the
// format multiplies; the weight is widened in registers as it is read or, for many rows of input,
// once for all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/vector.hpp"
#include "kernels/gemm.hpp"

namespace roofcast::kernels::cpu {

/// A product without its element types.
struct Product {
  const void* input = nullptr;   // [rows, k]
  const void* weight = nullptr;  // [n, k]
  void* output = nullptr;        // [rows, n]
  Element result = Element::fp32;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float scale = 1;  // for all outputs
  // GemmScale::block, else null
  const float* input_scale = nullptr;   // [k / 128, rows]
  const float* weight_scale = nullptr;  // [ceil(n / 128), k / 128]
  std::int64_t rows = 0;                // of the whole input, to index its scales
  // Int4Gemm, else null
  const void* group_scale = nullptr;  // [n, k / group]
  int group_shift = 0;                // log2(group)
};

/// fp32, fp16 and fp8: widened to floats.
template <int N, class T>
struct PlainFormat {
  using Input = T;
  using Panel = float;
  using Operand = Floats<N>;        // a vector of either operand
  using Lanes = Floats<N>;          // sums kept between two parts of k
  using Total = float;              // sum of the lanes
  static constexpr int kLanes = N;  // lanes of a vector
  static constexpr int kStep = N;   // elements of k per vector
  static constexpr std::int64_t kMaxPart = std::int64_t{1} << 40;  // elements of k: no limit
  /// Whether many rows of input share a widened copy of the weight. Of fp32 it is a plain copy,
  /// which pays too: rows of a weight that are a power of two apart take each other's place in L1.
  static constexpr bool kWidens = true;
  /// Whether rows of the weight are elements one after the other in memory, which is worth fetching
  /// ahead.
  static constexpr bool kFetches = true;

  using Row = const T*;

  ROOFCAST_INLINE static Row row(const Product& product, std::int64_t n) {
    return static_cast<const T*>(product.weight) + n * product.k;
  }

  /// Fills `padded` elements, a multiple of kStep; those beyond `count` are zero.
  ROOFCAST_INLINE static void fill(Panel* panel, const T* input, std::int64_t count,
                                   std::int64_t padded) {
    widen<N>(panel, input, count, padded);
  }
  ROOFCAST_INLINE static void load_panel(Operand& to, const Panel* from) { load<N>(to, from); }
  ROOFCAST_INLINE static void load_weight(Operand& to, Row row, std::int64_t k) {
    load<N>(to, row + k);
  }
  ROOFCAST_INLINE static void load_last(Operand& to, Row row, std::int64_t k, std::int64_t count) {
    load_some<N>(to, row + k, count);
  }
  ROOFCAST_INLINE static void add_product(Floats<N>& sum, const Operand& a, const Operand& b) {
    sum += a * b;
  }
  ROOFCAST_INLINE static void resume(Floats<N>& sum, const Lanes& lanes, bool first) {
    sum = first ? Floats<N>{} : lanes;
  }
  ROOFCAST_INLINE static void save(Lanes& lanes, const Floats<N>& sum, bool /*first*/) {
    lanes = sum;
  }
};

/// bf16, two vectors at a time: each word of memory holds a pair, whose even element is the word
/// shifted up and whose odd element is the word without its lower half. That takes one instruction
/// each, where putting neighbours in separate lanes takes three. The panel has the same order.
template <int N>
struct Bf16Format : PlainFormat<N, Bf16> {
  struct Operand {
    Floats<N> even;
    Floats<N> odd;
  };
  static constexpr int kStep = 2 * N;
  using Row = const Bf16*;

  ROOFCAST_INLINE static void part(Operand& to, const Bf16* from) {
    Words<N> words;
    std::memcpy(&words, from, sizeof words);
    const Words<N> even = words << 16;
    const Words<N> odd = words & 0xffff0000U;
    copy_bits(to.even, even);
    copy_bits(to.odd, odd);
  }
  ROOFCAST_INLINE static void part_some(Operand& to, const Bf16* from, std::int64_t count) {
    Bf16 buffer[kStep] = {};
    std::memcpy(buffer, from, static_cast<std::size_t>(count) * sizeof(Bf16));
    part(to, buffer);
  }

  ROOFCAST_INLINE static void fill(float* panel, const Bf16* input, std::int64_t count,
                                   std::int64_t padded) {
    for (std::int64_t k = 0; k < padded; k += kStep) {
      Operand pair;
      if (k + kStep <= count) {
        part(pair, input + k);
      } else {
        part_some(pair, input + k, count - k);
      }
      std::memcpy(panel + k, &pair, sizeof pair);
    }
  }
  ROOFCAST_INLINE static void load_panel(Operand& to, const float* from) {
    load<N>(to.even, from);
    load<N>(to.odd, from + N);
  }
  ROOFCAST_INLINE static void load_weight(Operand& to, Row row, std::int64_t k) {
    part(to, row + k);
  }
  ROOFCAST_INLINE static void load_last(Operand& to, Row row, std::int64_t k, std::int64_t count) {
    part_some(to, row + k, count);
  }
  ROOFCAST_INLINE static void add_product(Floats<N>& sum, const Operand& a, const Operand& b) {
    sum += a.even * b.even;
    sum += a.odd * b.odd;
  }
};

/// int8: products are at most 2^14 in size, so floats hold sums of 1024 of them exactly; these are
/// then added as integers.
template <int N>
struct Int8Format : PlainFormat<N, std::int8_t> {
  using Lanes = Ints<N>;
  using Total = std::int32_t;
  static constexpr std::int64_t kMaxPart = std::int64_t{1024} * N;

  ROOFCAST_INLINE static void resume(Floats<N>& sum, const Lanes& /*lanes*/, bool /*first*/) {
    sum = Floats<N>{};
  }
  ROOFCAST_INLINE static void save(Lanes& lanes, const Floats<N>& sum, bool first) {
    const Lanes whole = __builtin_convertvector(sum, Lanes);
    lanes = first ? whole : lanes + whole;
  }
};

/// int4 in groups that share a scale of type T, the input's. k is a multiple of 32, so a vector
/// neither crosses a group nor is only partly filled.
template <int N, class T>
struct Int4Format : PlainFormat<N, T> {
  static constexpr bool kFetches = false;
  struct Row {
    const std::uint8_t* at;
    const T* scale;
    int shift;
  };

  ROOFCAST_INLINE static Row row(const Product& product, std::int64_t n) {
    return {static_cast<const std::uint8_t*>(product.weight) + n * product.k / 2,
            static_cast<const T*>(product.group_scale) + n * (product.k >> product.group_shift),
            product.group_shift};
  }

  ROOFCAST_INLINE static void load_weight(Floats<N>& to, const Row& row, std::int64_t k) {
    Vector<std::uint8_t, N / 2> bytes;
    std::memcpy(&bytes, row.at + k / 2, sizeof bytes);
    Vector<std::uint8_t, N> nibbles;
    spread(nibbles, bytes, std::make_index_sequence<N / 2>());
    Words<N> wide;
    extend<N>(wide, nibbles);
    Ints<N> whole;
    copy_bits(whole, wide);
    to = __builtin_convertvector(whole - 8, Floats<N>) * to_float(row.scale[k >> row.shift]);
  }
  ROOFCAST_INLINE static void load_last(Floats<N>& to, const Row& row, std::int64_t k,
                                        std::int64_t /*count*/) {
    load_weight(to, row, k);
  }

 private:
  /// Low nibble, then high nibble of each byte.
  template <class Nibbles, class Bytes, std::size_t... kByte>
  ROOFCAST_INLINE static void spread(Nibbles& to, const Bytes& bytes,
                                     std::index_sequence<kByte...>) {
    constexpr std::size_t kHigh = sizeof...(kByte);
    const Bytes low = bytes & 15;
    const Bytes high = bytes >> 4;
    to = __builtin_shufflevector(low, high, (pick(kByte, kHigh))...,
                                 (pick(kByte + kHigh, kHigh))...);
  }
  static constexpr std::size_t pick(std::size_t lane, std::size_t high) {
    return lane / 2 + (lane % 2 == 0 ? 0 : high);
  }
};

/// bf16 with AVX512_BF16: each of 16 lanes adds the products of two neighbours; subnormals are
/// treated as zero (Intel SDM, VDPBF16PS).
struct PairFormat : PlainFormat<16, Bf16> {
  using Panel = Bf16;
  using Operand = Vector<std::uint16_t, 32>;
  static constexpr int kStep = 32;
  static constexpr bool kWidens = false;  // the pairs are multiplied as they are

  ROOFCAST_INLINE static void fill(Bf16* panel, const Bf16* input, std::int64_t count,
                                   std::int64_t padded) {
    std::memcpy(panel, input, static_cast<std::size_t>(count) * sizeof(Bf16));
    std::fill(panel + count, panel + padded, Bf16{});
  }
  ROOFCAST_INLINE static void load_panel(Operand& to, const Bf16* from) {
    std::memcpy(&to, from, sizeof to);
  }
  ROOFCAST_INLINE static void load_weight(Operand& to, Row row, std::int64_t k) {
    std::memcpy(&to, row + k, sizeof to);
  }
  ROOFCAST_INLINE static void load_last(Operand& to, Row row, std::int64_t k, std::int64_t count) {
    to = Operand{};
    std::memcpy(&to, row + k, static_cast<std::size_t>(count) * sizeof(Bf16));
  }
  ROOFCAST_INLINE static void add_product(Floats<16>& sum, const Operand& a, const Operand& b) {
#if defined(__x86_64__) && defined(__clang__)
    multiply_pairs(sum, a, b);
#elif defined(__x86_64__)
    // In assembly: the intrinsic cannot be inlined into a function without the target.
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#else
    static_cast<void>(sum + a[0] + b[0]);
#endif
  }

 private:
#if defined(__x86_64__) && defined(__clang__)
  /// A separate function: clang supports registers of this size only where the target is stated.
  [[gnu::noinline]] ROOFCAST_TARGET_AVX512_BF16 static void multiply_pairs(Floats<16>& sum,
                                                                           const Operand& a,
                                                                           const Operand& b) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  }
#endif
};

}  // namespace roofcast::kernels::cpu
