// Warp-level code shared by the attention kernels: mma operands of keys and values from a swizzled
// tile in shared memory (16-bit, or fp8 widened in registers), and the online softmax.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

inline constexpr float kMinusInfinity = -__builtin_huge_valf();
inline constexpr float kLog2E = 1.44269504088896340736F;  // the softmax uses base 2

// ---- fp8 e4m3 widened to T, exactly (except NaN, which becomes 480)
//
// Moving sign and magnitude bits into place gives a T whose exponent is too small by the difference
// of the biases; multiplying by a power of two corrects it, including subnormal numbers.

template <class T>
struct WidenFp8;
template <>
struct WidenFp8<Bf16> {
  static constexpr int kShift = 4;  // bf16 has 8 exponent bits, e4m3 has 4
  static constexpr std::uint32_t kMagnitude = 0x07f007f0U;
  static constexpr std::uint32_t kRebias = 0x7b807b80U;  // twice 2^120 = 2^(127 - 7)
};
template <>
struct WidenFp8<Fp16> {
  static constexpr int kShift = 1;  // fp16 has 5
  static constexpr std::uint32_t kMagnitude = 0x3f803f80U;
  static constexpr std::uint32_t kRebias = 0x5c005c00U;  // twice 2^8 = 2^(15 - 7)
};

/// Bytes 1 and 3 of `bytes` as two T.
template <class T>
ROOFCAST_DEVICE std::uint32_t widen_odd(std::uint32_t bytes) {
  using W = WidenFp8<T>;
  const std::uint32_t small = (bytes & 0x80008000U) | ((bytes >> W::kShift) & W::kMagnitude);
  return multiply_pair<T>(small, W::kRebias);
}
/// Bytes 0 and 2 of `bytes` as two T.
template <class T>
ROOFCAST_DEVICE std::uint32_t widen_even(std::uint32_t bytes) {
  return widen_odd<T>(bytes << 8);
}

// ---- operands from shared memory

/// How fp8 changes the order of the head's elements. A lane gets 4 neighbouring fp8 in a word, so
/// in each group of 16 the elements 4t, 4t + 2, 4t + 1, 4t + 3 are where mma has k = 2t, 2t + 1, 2t
/// + 8, 2t + 9. The sum over k is unaffected if the queries have the same order. For values, the
/// columns 4t, 4t + 2 and 4t + 1, 4t + 3 of a group are those of a lane's sums in its two tiles.
template <class Cache>
inline constexpr bool kReordered = sizeof(Cache) == 1;

/// k16 steps of keys, or pairs of n8 tiles of values, covered by one load of four matrices: 16
/// bytes of a row in each of its two halves.
template <class Cache>
inline constexpr int kStepsOfLoad = kReordered<Cache> ? 2 : 1;

/// B operands of S = Q K^T for 16 tokens: word[step][n8 tile][half of k].
template <class Cache>
struct KeyOperands {
  std::uint32_t word[kStepsOfLoad<Cache>][2][2];
};
/// B operands of O = P V for 16 tokens: word[n8 tile][half of k].
template <class Cache>
struct ValueOperands {
  std::uint32_t word[2 * kStepsOfLoad<Cache>][2];
};

/// Where a lane's matrix row starts in each tile of keys (values, queries) at `tile`. Keep it:
/// load_keys() reaches everything from there with constant offsets.
template <class Cache, int kHeadDim>
ROOFCAST_DEVICE std::uint32_t lane_in_keys(std::uint32_t tile) {
  const int lane = thread_index() % kWarpThreads;
  constexpr int kRowBytes = kHeadDim * static_cast<int>(sizeof(Cache));
  return tile + swizzled<kRowBytes>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
}
template <class Cache, int kHeadDim>
ROOFCAST_DEVICE std::uint32_t lane_in_values(std::uint32_t tile) {
  const int lane = thread_index() % kWarpThreads;
  return tile + swizzled<kHeadDim* static_cast<int>(sizeof(Cache))>(lane % 16, lane / 16);
}

/// Tokens `token` to `token + 15` of a tile of keys, load `part` of the head's elements.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE KeyOperands<Cache> load_keys(std::uint32_t lane_address, int token, int part) {
  const auto below = static_cast<std::uint32_t>(token * kHeadDim * static_cast<int>(sizeof(Cache)));
  const Quad q = load_matrices(further_chunk(lane_address, part * 2) + below);
  KeyOperands<Cache> keys;
  ROOFCAST_UNROLL
  for (int i = 0; i < 4; ++i) {  // matrix i: tokens of tile i / 2, chunk i % 2
    if constexpr (kReordered<Cache>) {
      keys.word[i % 2][i / 2][0] = widen_even<T>(q.word[i]);
      keys.word[i % 2][i / 2][1] = widen_odd<T>(q.word[i]);
    } else {
      keys.word[0][i / 2][i % 2] = q.word[i];
    }
  }
  return keys;
}

/// Tokens `token` to `token + 15` of a tile of values, load `part` of the head's elements.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE ValueOperands<Cache> load_values(std::uint32_t lane_address, int token, int part) {
  const auto below = static_cast<std::uint32_t>(token * kHeadDim * static_cast<int>(sizeof(Cache)));
  const Quad q = load_matrices_transposed(further_chunk(lane_address, part * 2) + below);
  ValueOperands<Cache> values;
  ROOFCAST_UNROLL
  for (int i = 0; i < 4; ++i) {  // matrix i: tokens of half i % 2, chunk i / 2
    if constexpr (kReordered<Cache>) {
      values.word[i / 2 * 2][i % 2] = widen_even<T>(q.word[i]);
      values.word[i / 2 * 2 + 1][i % 2] = widen_odd<T>(q.word[i]);
    } else {
      values.word[i / 2][i % 2] = q.word[i];
    }
  }
  return values;
}

/// Head element of C's column pair `tile` (of n8 tiles), for a lane's element i of 2 in a row.
template <class Cache>
ROOFCAST_HOST_AND_DEVICE constexpr int head_element(int tile, int lane, int i) {
  if (!kReordered<Cache>) return tile * kFragmentWidth + lane % 4 * 2 + i;
  return tile / 2 * 16 + lane % 4 * 4 + i * 2 + tile % 2;
}

/// Reorders the words of 16 head elements of a query (8 words of neighbouring pairs) as mma needs
/// them with fp8 keys: word t gets elements 4t, 4t + 2, word t + 4 the others.
ROOFCAST_DEVICE void reorder_query(Quad& low, Quad& high) {
  const Quad a = low;
  const Quad b = high;
  low = {join_low(a.word[0], a.word[1]), join_low(a.word[2], a.word[3]),
         join_low(b.word[0], b.word[1]), join_low(b.word[2], b.word[3])};
  high = {join_high(a.word[0], a.word[1]), join_high(a.word[2], a.word[3]),
          join_high(b.word[0], b.word[1]), join_high(b.word[2], b.word[3])};
}

/// Copies query rows to a swizzled tile in shared memory, in the mma order that matches Cache. All
/// `threads` of the CTA must call it, followed by a barrier. `row_at(row)`: start of a row in
/// global memory, null for a row of zeros.
template <class Cache, int kHeadDim, class RowAt>
ROOFCAST_DEVICE void copy_queries(int rows, int threads, std::uint32_t tile, const RowAt& row_at) {
  constexpr int kRowBytes = kHeadDim * 2;
  constexpr int kGroups = kHeadDim / kFragmentDepth;  // groups of 16 elements, two chunks
  for (int i = thread_index(); i < rows * kGroups; i += threads) {
    const int row = i / kGroups;
    const int chunk = i % kGroups * 2;
    const Quad* from = row_at(row);
    Quad low = from != nullptr ? from[chunk] : Quad{};
    Quad high = from != nullptr ? from[chunk + 1] : Quad{};
    if constexpr (kReordered<Cache>) reorder_query(low, high);
    store_shared_quad(tile + swizzled<kRowBytes>(row, chunk), low);
    store_shared_quad(tile + swizzled<kRowBytes>(row, chunk + 1), high);
  }
}

/// Like lane_in_keys(), for such a tile.
template <int kHeadDim>
ROOFCAST_DEVICE std::uint32_t lane_in_queries(std::uint32_t tile) {
  const int lane = thread_index() % kWarpThreads;
  return tile + swizzled<kHeadDim * 2>(lane % 16, lane / 16);
}

/// A operand of 16 queries, starting at `row` (a multiple of 16), k16 step `step`.
template <int kHeadDim>
ROOFCAST_DEVICE Quad load_queries(std::uint32_t lane_address, int row, int step) {
  const auto below = static_cast<std::uint32_t>(row * kHeadDim * 2);
  return load_matrices(further_chunk(lane_address, step * 2) + below);
}

// ---- online softmax (Milakov, Gimelshein, arXiv 1805.02867) on C fragments

/// For the two rows of a C fragment that a lane holds parts of. `largest` is the same in a row's
/// four lanes and refers to unscaled scores; `sum` covers the lane's own columns.
struct SoftmaxState {
  float largest[2] = {kMinusInfinity, kMinusInfinity};
  float sum[2] = {0, 0};
};

/// A maximum that can be subtracted: minus infinity, for a row that has seen no token yet, would
/// give NaN.
ROOFCAST_DEVICE float finite(float largest) { return largest == kMinusInfinity ? 0.0F : largest; }

/// Converts scores to exp(scale (score - largest)), `scale` in units of log2, greater than 0.
/// Previous sums and outputs must be multiplied by `shrink`.
template <int kTiles>
ROOFCAST_DEVICE void soften(float (&score)[kTiles][4], float scale, SoftmaxState& state,
                            float (&shrink)[2]) {
  ROOFCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    float largest = state.largest[half];
    ROOFCAST_UNROLL
    for (int n = 0; n < kTiles; ++n) {
      largest = largest_of(largest, largest_of(score[n][2 * half], score[n][2 * half + 1]));
    }
    largest = largest_of(largest, shuffle_xor(largest, 1));
    largest = largest_of(largest, shuffle_xor(largest, 2));
    const float offset = finite(largest) * scale;
    shrink[half] = power_of_two(multiply_add(state.largest[half], scale, -offset));
    float sum = 0;
    ROOFCAST_UNROLL
    for (int n = 0; n < kTiles; ++n) {
      ROOFCAST_UNROLL
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        score[n][i] = power_of_two(multiply_add(score[n][i], scale, -offset));
        sum += score[n][i];
      }
    }
    state.sum[half] = multiply_add(state.sum[half], shrink[half], sum);
    state.largest[half] = largest;
  }
}

/// Sum over the four lanes of a row.
ROOFCAST_DEVICE float row_sum(float value) {
  value += shuffle_xor(value, 1);
  return value + shuffle_xor(value, 2);
}

/// A operand of O = P V from two neighbouring tiles of P.
template <class T>
ROOFCAST_DEVICE Quad probability_operand(const float (&low)[4], const float (&high)[4]) {
  return {pack<T>(low[0], low[1]), pack<T>(low[2], low[3]), pack<T>(high[0], high[1]),
          pack<T>(high[2], high[3])};
}

}  // namespace roofcast::kernels::cuda
