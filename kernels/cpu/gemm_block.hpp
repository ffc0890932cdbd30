// One block of a product output[m, n] = sum_k input[m, k] weight[n, k], on one thread.
//
// Both operands run along k, so each output is a dot product: lane l of N sums the elements k with
// k mod N = l in ascending order, and the lanes are added at the end. That order is the same for
// every m, n, block and thread, so a row of the output depends only on its row of the input: a
// token has the same bits in any batch and with any number of threads.
//
// The weight is read in place, once for all rows of a block: with few rows the product runs at
// memory speed, as in decode. Levels: a tile of outputs keeps its lanes in registers; a panel of
// the input, converted to the form that is multiplied, stays in the caches; between two parts of k
// the block's lanes are saved in L2.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/ceil_divide.hpp"
#include "kernels/cpu/gemm_blocks.hpp"
#include "kernels/cpu/gemm_format.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cpu/vector.hpp"

namespace roofcast::kernels::cpu {

inline constexpr std::int64_t kPanelElements = 16 * 4096;  // 256 KiB of floats
/// 16 or 8 sums plus 4 vectors of input and one of weight, in 32 or 16 registers.
template <class Format>
inline constexpr int kTileColumns = Format::kLanes == 16 ? 4 : 2;
/// With more than kStreamedRows: how many rows of the weight, and elements of each, stay in L1
/// while tiles of input rows are processed. 32 KiB of fp32, to which narrower weights are widened
/// once for all tiles (Widened).
inline constexpr std::int64_t kGroupColumns = 16;
inline constexpr std::int64_t kReusedPart = 512;

/// A part of k.
struct Part {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t padded = 0;  // count rounded up to whole vectors; the panel's row length
  bool first() const { return begin == 0; }
};

/// Of a format whose weights are widened as they are read: their widened copy, in the panel's form
/// and order, so that each lane adds the same products in the same order.
template <class Format>
struct Widened : Format {
  static constexpr bool kFetches = false;  // it is in L1
  using Row = const typename Format::Panel*;

  ROOFCAST_INLINE static void load_weight(typename Format::Operand& to, Row row, std::int64_t k) {
    Format::load_panel(to, row + k);
  }
  ROOFCAST_INLINE static void load_last(typename Format::Operand& to, Row row, std::int64_t k,
                                        std::int64_t /*count*/) {
    Format::load_panel(to, row + k);
  }
};

/// Fetches the part of the next kColumns rows of the weight that is as long as
/// what these rows have at k, as one stream in the order of memory. The processor's own prefetching
/// begins again in each row, and fetching ahead in each row stops at its end: fp16 on a Zen 5 was
/// read at 85 % of what a read alone reaches, with this at 95; bf16 of 768 inputs on a Cascade Lake
/// takes 0.51 to 0.69 of the time with it for 2 to 8 rows.
template <class Format, int kColumns>
ROOFCAST_INLINE void fetch_next(const typename Format::Row* weight, std::int64_t k) {
  if constexpr (kColumns > 1) {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kBytes = sizeof(*weight[0]) * kColumns * Format::kStep;
    const auto* at =
        reinterpret_cast<const char*>(weight[0] + kColumns * (weight[1] - weight[0] + k));
    ROOFCAST_UNROLL
    for (std::size_t i = 0; i < kBytes; i += kLine) __builtin_prefetch(at + i);
  }
}

/// Adds a part of k to the lanes of kRows x kColumns outputs. `lanes` is [kColumns, block_rows];
/// the part begins at element `origin` of each row of the weight. kFirst: no tile before this one
/// has read these rows.
template <class Format, int kRows, int kColumns, bool kFirst>
ROOFCAST_INLINE void add_tile(const typename Format::Panel* panel,
                              const typename Format::Row* weight, std::int64_t origin,
                              const Part& part, typename Format::Lanes* lanes,
                              std::int64_t block_rows) {
  Floats<Format::kLanes> sum[kRows][kColumns];
  typename Format::Operand a[kRows];
  typename Format::Operand b;
  ROOFCAST_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    ROOFCAST_UNROLL
    for (int r = 0; r < kRows; ++r) {
      Format::resume(sum[r][c], lanes[c * block_rows + r], part.first());
    }
  }
  std::int64_t k = 0;
  for (; k + Format::kStep <= part.count; k += Format::kStep) {
    ROOFCAST_UNROLL
    for (int r = 0; r < kRows; ++r) Format::load_panel(a[r], panel + r * part.padded + k);
    if constexpr (Format::kFetches && kFirst) fetch_next<Format, kColumns>(weight, origin + k);
    ROOFCAST_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      Format::load_weight(b, weight[c], origin + k);
      ROOFCAST_UNROLL
      for (int r = 0; r < kRows; ++r) Format::add_product(sum[r][c], a[r], b);
    }
  }
  if (k < part.count) {
    ROOFCAST_UNROLL
    for (int r = 0; r < kRows; ++r) Format::load_panel(a[r], panel + r * part.padded + k);
    ROOFCAST_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      Format::load_last(b, weight[c], origin + k, part.count - k);
      ROOFCAST_UNROLL
      for (int r = 0; r < kRows; ++r) Format::add_product(sum[r][c], a[r], b);
    }
  }
  ROOFCAST_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    ROOFCAST_UNROLL
    for (int r = 0; r < kRows; ++r) {
      Format::save(lanes[c * block_rows + r], sum[r][c], part.first());
    }
  }
}

/// All columns of a group times kRows rows of the panel, which stay in L1.
template <class Format, int kRows, bool kFirst>
ROOFCAST_INLINE void add_rows(const typename Format::Panel* panel,
                              const typename Format::Row* weight, std::int64_t columns,
                              std::int64_t origin, const Part& part, typename Format::Lanes* lanes,
                              std::int64_t block_rows) {
  constexpr int kColumns = kTileColumns<Format>;
  std::int64_t c = 0;
  for (; c + kColumns <= columns; c += kColumns) {
    add_tile<Format, kRows, kColumns, kFirst>(panel, weight + c, origin, part,
                                              lanes + c * block_rows, block_rows);
  }
  for (; c < columns; ++c) {
    add_tile<Format, kRows, 1, kFirst>(panel, weight + c, origin, part, lanes + c * block_rows,
                                       block_rows);
  }
}

/// The same for a number of rows that is not known before: 1 to kTileRows.
template <class Format, bool kFirst>
ROOFCAST_INLINE void add_some_rows(const typename Format::Panel* panel,
                                   const typename Format::Row* weight, std::int64_t columns,
                                   std::int64_t origin, const Part& part,
                                   typename Format::Lanes* lanes, std::int64_t block_rows,
                                   std::int64_t count) {
  static_assert(kTileRows == 4);
  const auto rows = block_rows;
  if (count == 4) add_rows<Format, 4, kFirst>(panel, weight, columns, origin, part, lanes, rows);
  if (count == 3) add_rows<Format, 3, kFirst>(panel, weight, columns, origin, part, lanes, rows);
  if (count == 2) add_rows<Format, 2, kFirst>(panel, weight, columns, origin, part, lanes, rows);
  if (count == 1) add_rows<Format, 1, kFirst>(panel, weight, columns, origin, part, lanes, rows);
}

/// All rows of a block times `columns` rows of the weight, which stay in L1: in as few tiles as
/// rows allow, of equal sizes or one apart, so that five rows take 3 + 2 instead of 4 + 1, whose
/// single row waits for its additions.
template <class Format>
ROOFCAST_INLINE void add_columns(const typename Format::Panel* panel,
                                 const typename Format::Row* weight, std::int64_t columns,
                                 std::int64_t origin, const Part& part,
                                 typename Format::Lanes* lanes, std::int64_t rows) {
  std::int64_t tiles = ceil_divide(rows, kTileRows);
  std::int64_t r = ceil_divide(rows, tiles);
  add_some_rows<Format, true>(panel, weight, columns, origin, part, lanes, rows, r);
  for (--tiles; tiles > 0; --tiles) {
    const std::int64_t count = ceil_divide(rows - r, tiles);
    add_some_rows<Format, false>(panel + r * part.padded, weight, columns, origin, part, lanes + r,
                                 rows, count);
    r += count;
  }
}

/// Widens the part of one row of the weight.
template <class Format>
ROOFCAST_INLINE void widen_weight(typename Format::Panel* to, const typename Format::Row& row,
                                  const Part& part) {
  typename Format::Operand value;
  std::int64_t k = 0;
  for (; k + Format::kStep <= part.count; k += Format::kStep) {
    Format::load_weight(value, row, part.begin + k);
    std::memcpy(to + k, &value, sizeof value);
  }
  if (k < part.count) {
    Format::load_last(value, row, part.begin + k, part.count - k);
    std::memcpy(to + k, &value, sizeof value);
  }
}

/// The columns `n`, a group, of a block.
template <class Format>
ROOFCAST_INLINE void add_group(const typename Format::Panel* panel, const Product& product, Range n,
                               const Part& part, typename Format::Lanes* lanes, std::int64_t rows) {
  typename Format::Row weight[kGroupColumns];
  const std::int64_t columns = n.end - n.begin;
  for (std::int64_t c = 0; c < columns; ++c) weight[c] = Format::row(product, n.begin + c);
  if constexpr (Format::kWidens) {
    if (rows > kStreamedRows) {
      alignas(64) typename Format::Panel wide[kGroupColumns * kReusedPart];
      typename Widened<Format>::Row widened[kGroupColumns];
      for (std::int64_t c = 0; c < columns; ++c) {
        widen_weight<Format>(wide + c * part.padded, weight[c], part);
        widened[c] = wide + c * part.padded;
      }
      return add_columns<Widened<Format>>(panel, widened, columns, 0, part, lanes, rows);
    }
  }
  add_columns<Format>(panel, weight, columns, part.begin, part, lanes, rows);
}

/// Multiplies the panel by both factors of GemmScale::block; n must lie in one block of the weight.
inline void scale_panel(float* panel, const Product& product, Range m, std::int64_t n,
                        const Part& part) {
  const std::int64_t blocks = product.k / kScaleBlock;
  const float* weight_scale = product.weight_scale + n / kScaleBlock * blocks;
  for (std::int64_t r = m.begin; r < m.end; ++r, panel += part.padded) {
    for (std::int64_t k = 0; k < part.count; ++k) {
      const std::int64_t block = (part.begin + k) / kScaleBlock;
      panel[k] *= product.input_scale[block * product.rows + r] * weight_scale[block];
    }
  }
}

template <class Format>
ROOFCAST_INLINE void fill_panel(typename Format::Panel* panel, const Product& product, Range m,
                                std::int64_t n, const Part& part) {
  using Input = typename Format::Input;
  const auto* input = static_cast<const Input*>(product.input) + m.begin * product.k + part.begin;
  for (std::int64_t r = 0; r < m.end - m.begin; ++r) {
    Format::fill(panel + r * part.padded, input + r * product.k, part.count, part.padded);
  }
  if constexpr (std::is_same_v<Input, Fp8E4M3>) {
    if (product.input_scale != nullptr) scale_panel(panel, product, m, n, part);
  }
}

/// Adds the lanes of `count` outputs, padded to whole vectors.
template <class Format>
ROOFCAST_INLINE void add_lanes(float* totals, typename Format::Lanes* lanes, std::int64_t count) {
  constexpr int kLanes = Format::kLanes;
  for (std::int64_t i = count; i % kLanes != 0; ++i) lanes[i] = typename Format::Lanes{};
  for (std::int64_t i = 0; i < count; i += kLanes) {
    typename Format::Lanes sums;
    sum_each<typename Format::Total, kLanes>(sums, lanes + i);
    const Floats<kLanes> total = __builtin_convertvector(sums, Floats<kLanes>);
    std::memcpy(totals + i, &total, sizeof total);
  }
}

/// `totals`: [n.end - n.begin, m.end - m.begin].
template <class T>
ROOFCAST_INLINE void store(const float* totals, const Product& product, Range m, Range n) {
  const std::int64_t rows = m.end - m.begin;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* output = static_cast<T*>(product.output) + (m.begin + r) * product.n + n.begin;
    for (std::int64_t c = 0; c < n.end - n.begin; ++c) {
      output[c] = from_float<T>(totals[c * rows + r] * product.scale);
    }
  }
}

/// Elements of k that are processed before the lanes are saved.
template <class Format>
constexpr std::int64_t part_size(std::int64_t rows) {
  const std::int64_t fits = kPanelElements / rows / Format::kStep * Format::kStep;
  return std::min({Format::kMaxPart, fits, rows <= kStreamedRows ? fits : kReusedPart});
}

/// Preconditions: m.end - m.begin is at most kMaxBlockRows, and the block has at most
/// kMaxBlockOutputs outputs.
template <class Format>
ROOFCAST_INLINE void compute_block(const Product& product, Range m, Range n) {
  constexpr std::int64_t kLine = 64;
  alignas(kLine) typename Format::Panel panel[kPanelElements];
  alignas(kLine) typename Format::Lanes lanes[kMaxBlockOutputs];
  alignas(kLine) float totals[kMaxBlockOutputs];
  const std::int64_t rows = m.end - m.begin;
  const std::int64_t max = part_size<Format>(rows);
  const std::int64_t group_size = rows <= kStreamedRows ? kTileColumns<Format> : kGroupColumns;
  for (std::int64_t begin = 0; begin < product.k; begin += max) {
    const std::int64_t count = std::min(max, product.k - begin);
    const std::int64_t vectors = (count + Format::kStep - 1) / Format::kStep;
    const Part part{.begin = begin, .count = count, .padded = vectors * Format::kStep};
    fill_panel<Format>(panel, product, m, n.begin, part);
    for (std::int64_t c = n.begin; c < n.end; c += group_size) {
      const Range group{.begin = c, .end = std::min(c + group_size, n.end)};
      add_group<Format>(panel, product, group, part, lanes + (c - n.begin) * rows, rows);
    }
  }
  add_lanes<Format>(totals, lanes, rows * (n.end - n.begin));
  if (product.result == Element::fp32) store<float>(totals, product, m, n);
  if (product.result == Element::fp16) store<Fp16>(totals, product, m, n);
  if (product.result == Element::bf16) store<Bf16>(totals, product, m, n);
  if (product.result == Element::int8) store<std::int8_t>(totals, product, m, n);
}

// ---- one copy per instruction set

template <class Format>
void block_portable(const Product& product, Range m, Range n) {
  compute_block<Format>(product, m, n);
}
template <class Format>
ROOFCAST_TARGET_AVX2 void block_avx2(const Product& product, Range m, Range n) {
  compute_block<Format>(product, m, n);
}
template <class Format>
ROOFCAST_TARGET_AVX512 void block_avx512(const Product& product, Range m, Range n) {
  compute_block<Format>(product, m, n);
}

template <template <int> class Format>
BlockFunction block_for(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return block_portable<Format<4>>;
    case Isa::avx2:
      return block_avx2<Format<8>>;
    case Isa::avx512:
    case Isa::avx512_bf16:
      return block_avx512<Format<16>>;
  }
  return nullptr;
}

}  // namespace roofcast::kernels::cpu
