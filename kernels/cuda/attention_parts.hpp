// Partial results of attention whose tokens several CTAs share, and how they are merged: with the
// parts' outputs O_i (not divided by their sums), maxima m_i (base 2) and sums l_i,
//   output = scale * sum_i 2^(m_i - m) O_i / sum_i 2^(m_i - m) l_i,   m = max_i m_i
// (Flash-Decoding, Dao et al. 2023). Used by decode over keys and values and by latent decode.
//
// An item is some query heads of one sequence; a row is one of them. A CTA that continues an item
// stores its part in the CTA's own slot, since it continues at most one item; the CTA that starts
// an item stores its part at the item's rows, with the location of the others.
// begins an item leaves its part at the item's rows, with where the others are.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_fragments.hpp"
#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

struct alignas(8) PartStatistics {
  float largest;  // m_i
  float sum;      // l_i
};

/// The parts of a row: the first CTA's, then those of the next `count - 1` CTAs. One part means
/// that the output is already written.
struct alignas(16) RowParts {
  PartStatistics first;
  std::int32_t cta;
  std::int32_t count;
};

/// Loaded and stored by one instruction.
struct alignas(8) FloatPair {
  float low;
  float high;
};

/// The workspace. `width` is even.
struct Parts {
  int width = 0;
  int query_heads = 0;                   // rows per sequence
  int group = 1;                         // query heads per KV head: items do not cross it
  int item_rows = 1;                     // slots per item: the most rows it has
  RowParts* rows = nullptr;              // [sequences, query_heads]
  FloatPair* first = nullptr;            // [sequences, query_heads, width / 2]
  PartStatistics* statistics = nullptr;  // [ctas - 1, item_rows]
  FloatPair* later = nullptr;            // [ctas - 1, item_rows, width / 2]
};

/// Writes the statistics of row `row` (of all), which is row `within` of its item. Call from one
/// thread; the outputs go to part_output().
ROOFCAST_DEVICE void write_statistics(const Parts& parts, std::int64_t row, int within,
                                      PartOfItem part, PartStatistics statistics) {
  if (part.number == 0) {
    parts.rows[row] = {statistics, block_index(), part.count};
  } else {
    parts.statistics[(block_index() - 1) * parts.item_rows + within] = statistics;
  }
}

ROOFCAST_DEVICE FloatPair* part_output(const Parts& parts, std::int64_t row, int within,
                                       PartOfItem part) {
  const int pairs = parts.width / 2;
  if (part.number == 0) return parts.first + row * pairs;
  const std::int64_t place =
      static_cast<std::int64_t>(block_index() - 1) * parts.item_rows + within;
  return parts.later + place * pairs;
}

// ---- the kernel that merges

struct JoinArguments {
  Parts parts{};
  float scale = 1;         // for the values
  void* output = nullptr;  // [sequences, query_heads, width]
};

inline constexpr int kJoinThreads = 128;

/// A weight for each part, at most one per CTA, and the common factor.
constexpr std::uint32_t join_shared_bytes(int ctas) {
  return (static_cast<std::uint32_t>(ctas) + 1) * 4;
}

ROOFCAST_DEVICE float warp_largest(float value) {
  ROOFCAST_UNROLL
  for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) {
    value = largest_of(value, shuffle_xor(value, mask));
  }
  return value;
}
ROOFCAST_DEVICE float warp_sum(float value) {
  ROOFCAST_UNROLL
  for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

/// Called by one warp: stores 2^(m_i - m) of each part to `weights`, followed by the common factor.
ROOFCAST_DEVICE void weigh_parts(const RowParts& row, const PartStatistics* later, int stride,
                                 float scale, std::uint32_t weights) {
  const int lane = thread_index() % kWarpThreads;
  float largest = row.first.largest;
  for (int part = 1 + lane; part < row.count; part += kWarpThreads) {
    largest = largest_of(largest, later[(part - 1) * stride].largest);
  }
  largest = finite(warp_largest(largest));
  float sum = 0;
  for (int part = lane; part < row.count; part += kWarpThreads) {
    const PartStatistics own = part == 0 ? row.first : later[(part - 1) * stride];
    const float weight = power_of_two(own.largest - largest);
    store_shared(weights + 4 * static_cast<std::uint32_t>(part), bits_of(weight));
    sum = multiply_add(weight, own.sum, sum);
  }
  sum = warp_sum(sum);
  const float factor = sum > 0 ? scale / sum : 0.0F;
  if (lane == 0) store_shared(weights + 4 * static_cast<std::uint32_t>(row.count), bits_of(factor));
}

/// One CTA of kJoinThreads threads per row. T: element of the output.
template <class T>
ROOFCAST_DEVICE void join_parts(const JoinArguments& join) {
  wait_for_previous_kernel();
  const Parts& parts = join.parts;
  const std::int64_t index = block_index();
  const RowParts row = parts.rows[index];
  if (row.count == 1) return;
  const int within = block_index() % parts.query_heads % parts.group % parts.item_rows;
  const std::int64_t place = static_cast<std::int64_t>(row.cta) * parts.item_rows + within;
  const std::uint32_t weights = shared_base();
  if (thread_index() < kWarpThreads) {
    weigh_parts(row, parts.statistics + place, parts.item_rows, join.scale, weights);
  }
  barrier();

  const int pairs = parts.width / 2;
  const std::int64_t stride = static_cast<std::int64_t>(parts.item_rows) * pairs;
  const float factor = float_of(load_shared(weights + 4 * static_cast<std::uint32_t>(row.count)));
  auto* output = static_cast<std::uint32_t*>(join.output) + index * pairs;
  for (int pair = thread_index(); pair < pairs; pair += kJoinThreads) {
    const FloatPair* later = parts.later + place * pairs + pair;
    const FloatPair first = parts.first[index * pairs + pair];
    const float first_weight = float_of(load_shared(weights));
    FloatPair sum = {first_weight * first.low, first_weight * first.high};
    ROOFCAST_UNROLL_BY_FOUR
    for (int part = 1; part < row.count; ++part) {
      const float weight = float_of(load_shared(weights + 4 * static_cast<std::uint32_t>(part)));
      const FloatPair value = later[(part - 1) * stride];
      sum.low = multiply_add(weight, value.low, sum.low);
      sum.high = multiply_add(weight, value.high, sum.high);
    }
    output[pair] = pack<T>(sum.low * factor, sum.high * factor);
  }
}

}  // namespace roofcast::kernels::cuda
