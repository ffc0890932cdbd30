#include "kernels/cpu/gemm.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/ceil_divide.hpp"
#include "kernels/cpu/gemm_blocks.hpp"

namespace roofcast::kernels::cpu {
namespace {

/// Columns per block of grouped products, whose number of rows varies.
constexpr std::int64_t kGroupedColumns = kMaxBlockOutputs / kMaxBlockRows;

/// Columns per block with `rows` rows: enough that filling the panel (once per column block) is a
/// few per cent of the work, few enough that each thread gets several blocks. A divisor of
/// kScaleBlock if block scales need it.
std::int64_t block_columns(const Product& product, std::int64_t rows, int threads) {
  constexpr std::int64_t kMin = 16;
  constexpr std::int64_t kBlocksPerThread = 4;
  if (product.weight_scale != nullptr) return kScaleBlock / 4;
  const std::int64_t max = kMaxBlockOutputs / rows / kMin * kMin;
  const std::int64_t fair = product.n / (kBlocksPerThread * threads) / kMin * kMin;
  return std::clamp(fair, kMin, max);
}

/// Divides `m` rows of a product into blocks; consecutive blocks share part of the weight.
class Blocks {
 public:
  Blocks(const Product& product, std::int64_t m, int threads)
      : m_(m),
        n_(product.n),
        row_blocks_(ceil_divide(m, kMaxBlockRows)),
        rows_(row_blocks_ == 0 ? 0 : ceil_divide(m, row_blocks_)),
        columns_(rows_ == 0 ? 1 : block_columns(product, rows_, threads)) {}

  std::int64_t count() const { return row_blocks_ * ceil_divide(n_, columns_); }
  Range m(std::int64_t block) const {
    const std::int64_t begin = block % row_blocks_ * rows_;
    return {.begin = begin, .end = std::min(begin + rows_, m_)};
  }
  Range n(std::int64_t block) const {
    const std::int64_t begin = block / row_blocks_ * columns_;
    return {.begin = begin, .end = std::min(begin + columns_, n_)};
  }

 private:
  std::int64_t m_, n_, row_blocks_, rows_, columns_;
};

void multiply(const Product& product, std::int64_t m, BlockFunction function, ThreadPool& pool) {
  const Blocks blocks(product, m, pool.threads());
  pool.for_ranges(blocks.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) function(product, blocks.m(b), blocks.n(b));
  });
}

}  // namespace

BlockFunction block_function(Element element, Isa isa) {
  const bool wide = element == Element::fp32 || element == Element::bf16;
  return wide ? wide_block_function(element, isa) : narrow_block_function(element, isa);
}

RowForm gemm_row_form() {
  return {.tile = kTileRows, .streamed = kStreamedRows, .block = kMaxBlockRows};
}

void gemm(const Gemm& gemm, ThreadPool& pool, Isa isa) {
  check(gemm);
  Product product{.input = gemm.input,
                  .weight = gemm.weight,
                  .output = gemm.output,
                  .result = gemm.result,
                  .n = gemm.n,
                  .k = gemm.k,
                  .rows = gemm.m};
  if (gemm.scale == GemmScale::tensor) product.scale = *gemm.input_scale * *gemm.weight_scale;
  if (gemm.scale == GemmScale::block) {
    product.input_scale = gemm.input_scale;
    product.weight_scale = gemm.weight_scale;
  }
  multiply(product, gemm.m, block_function(gemm.element, isa), pool);
}

void int4_gemm(const Int4Gemm& gemm, ThreadPool& pool, Isa isa) {
  check(gemm);
  const Product product{.input = gemm.input,
                        .weight = gemm.weight,
                        .output = gemm.output,
                        .result = gemm.element,
                        .n = gemm.n,
                        .k = gemm.k,
                        .rows = gemm.m,
                        .group_scale = gemm.scale,
                        .group_shift = std::countr_zero(static_cast<unsigned>(gemm.group))};
  multiply(product, gemm.m, int4_block_function(gemm.element, isa), pool);
}

void grouped_gemm(const GroupedGemm& gemm, ThreadPool& pool, Isa isa) {
  check(gemm);
  const BlockFunction function = block_function(gemm.element, isa);
  const auto size = static_cast<std::int64_t>(size_of(gemm.element));
  const std::int64_t column_blocks = ceil_divide(gemm.n, kGroupedColumns);
  const auto of_expert = [&](std::int64_t expert) -> Product {
    return {.input = gemm.input,
            .weight = static_cast<const char*>(gemm.weight) + expert * gemm.n * gemm.k * size,
            .output = gemm.output,
            .result = gemm.element,
            .n = gemm.n,
            .k = gemm.k,
            .rows = gemm.rows};
  };
  // One thread reads a given part of an expert's weight, for all of the expert's rows.
  const auto compute = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t expert = i / column_blocks;
      const std::int64_t n = i % column_blocks * kGroupedColumns;
      const Range columns{.begin = n, .end = std::min<std::int64_t>(n + kGroupedColumns, gemm.n)};
      const std::int64_t last = gemm.first_row[expert + 1];
      for (std::int64_t m = gemm.first_row[expert]; m < last; m += kMaxBlockRows) {
        const Range rows{.begin = m, .end = std::min(m + kMaxBlockRows, last)};
        function(of_expert(expert), rows, columns);
      }
    }
  };
  pool.for_ranges(gemm.experts * column_blocks, 1, compute);
}

}  // namespace roofcast::kernels::cpu
