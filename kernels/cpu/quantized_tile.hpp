// A tile of a product with a quantised weight: rows of the input times strips of 16 outputs, over a
// part of k. Internal to quantized_gemm.cpp; one file per instruction set.
//
// Lane l of a vector belongs to output l of the strip, so lanes are never added up. For a step of
// 32 k: sum = start + sum of code * input as integers; total += scale * sum in fp32, in ascending
// order of steps: the same order, and so the same bits, in a tile of any shape. `start` takes the
// offset of the unsigned codes off: -128 or -8 or -32 times the sum of the input. fp8 has no
// integers: a lane adds its k in ascending order, with AVX-512 the even and the odd ones of each
// kFp8Steps steps apart.
#pragma once

#include <cstdint>

#include "kernels/ceil_divide.hpp"
#include "kernels/quantized_gemm.hpp"

namespace roofcast::kernels::cpu {

inline constexpr int kTileStrips = 2;
inline constexpr int kTileOutputs = kTileStrips * kStripRows;

/// Rows of the largest tiles. AVX2: 4 sums of integers, 4 totals, 2 codes, temporaries in 16
/// registers; AVX-512: 12 sums of integers, 12 totals, 2 codes, scales in 32.
inline constexpr int kAvx2TileRows = 2;
inline constexpr int kAvx512TileRows = 6;

/// Steps of a part of k while all rows pass, so that the weight's 16 KiB of two strips stay in L1.
inline constexpr std::int64_t kBlockSteps = 512 / kQuantizedStep;
/// Steps of fp8 weights whose even and odd k are summed apart before they are added to the total:
/// where parts begin, so that the order is the same in each tile.
inline constexpr std::int64_t kFp8Steps = kBlockSteps;

/// The quantised input, rows one after the other: int8 codes, then arrays with an element a step.
/// Of fp8 weights: the input as floats, in `values` alone.
struct QuantizedInput {
  const std::int8_t* code = nullptr;     // [rows, code_stride]
  const float* scale = nullptr;          // [rows, step_stride]
  const float* weighted = nullptr;       // scale times the sum of the codes (q4_k)
  const std::int32_t* start = nullptr;   // q6_k: of the first half of the step
  const std::int32_t* second = nullptr;  // q6_k: of the second
  const float* values = nullptr;         // [rows, code_stride]
  std::int64_t code_stride = 0;
  std::int64_t step_stride = 0;
};

struct QuantizedTile {
  QuantizedInput input{};                    // of the tile's first row
  const std::uint8_t* code[kTileStrips]{};   // of each strip
  const std::uint8_t* scale[kTileStrips]{};  // of each strip
  std::int64_t first_step = 0;               // of the part
  std::int64_t last_step = 0;
  float* total = nullptr;  // [rows, kTileOutputs]; read unless first_step is 0
  /// What the thread reads from memory after these strips, to be fetched meanwhile; null: nothing.
  const std::uint8_t* next = nullptr;
};

/// Bytes of both strips a step, codes and scales.
constexpr std::int64_t tile_step_bytes(QuantizedFormat format) {
  switch (format) {
    case QuantizedFormat::q4_0:
      return kTileStrips * (256 + 32);
    case QuantizedFormat::q4_k:
      return kTileStrips * (256 + 40);
    case QuantizedFormat::q6_k:
      return kTileStrips * (384 + 36);
    case QuantizedFormat::int4:
      return kTileStrips * (256 + 8);
    case QuantizedFormat::q8_0:
      return kTileStrips * (512 + 32);
    case QuantizedFormat::int8:
    case QuantizedFormat::fp8:
      return kTileStrips * 512;
  }
  return 0;
}

/// Fetches the part of `next` that is as long as a step of this tile: one stream in the order of
/// memory, a tile ahead, since the hardware prefetcher does not follow
/// interleaved strips, codes and scales. Steps end within lines, and a line is asked for by the
/// step in which it ends: asking twice costs as much as reading (q6_k on a Zen 5: 67 to 77 instead
/// of 82 to 97 % of what a read reaches). Codes of 8 bits have so little to compute that the
/// processor keeps up by itself, and this only costs (q8_0: 91 instead of 94 %).
template <QuantizedFormat kFormat>
[[gnu::always_inline]] inline void fetch_next(const QuantizedTile& tile, std::int64_t step) {
  constexpr int kLine = 64;
  constexpr std::int64_t kBytes = tile_step_bytes(kFormat);
  if constexpr (kFormat != QuantizedFormat::q8_0 && kFormat != QuantizedFormat::int8) {
    if (tile.next == nullptr) return;
    const std::int64_t end = (step + 1) * kBytes / kLine;
    for (std::int64_t line = step * kBytes / kLine; line < end; ++line) {
      __builtin_prefetch(tile.next + line * kLine);
    }
  }
}

/// Both strips times `rows` rows. If there is one strip only, both are the same.
using TileFunction = void (*)(const QuantizedTile& tile, std::int64_t rows);

TileFunction portable_tile(QuantizedFormat format);
TileFunction avx2_tile(QuantizedFormat format);
TileFunction avx_vnni_tile(QuantizedFormat format);
TileFunction avx512_vnni_tile(QuantizedFormat format);

// ---- what each instruction set builds from its tiles of a fixed number of rows

/// A tile of `rows` rows, at most kMax.
template <template <QuantizedFormat, int> class Tile, QuantizedFormat kFormat, int kMax>
void add_tile(const QuantizedTile& tile, std::int64_t rows) {
  if constexpr (kMax > 1) {
    if (rows < kMax) return add_tile<Tile, kFormat, kMax - 1>(tile, rows);
  }
  Tile<kFormat, kMax>::add(tile);
}

/// As few tiles as rows allow, of equal sizes or one apart: each unpacks the weight once, and eight
/// rows as 4 + 4 take less than as 6 + 2. Each file gives its Tile another name: a template
/// argument in an unnamed namespace does not keep GCC 12 from merging instances of one name, whose
/// instructions differ.
template <template <QuantizedFormat, int> class Tile, QuantizedFormat kFormat, int kMax>
void add_rows(const QuantizedTile& first, std::int64_t rows) {
  QuantizedTile tile = first;
  for (std::int64_t tiles = ceil_divide(rows, kMax); tiles > 0; --tiles) {
    const std::int64_t count = ceil_divide(rows, tiles);
    add_tile<Tile, kFormat, kMax>(tile, count);
    rows -= count;
    QuantizedInput& in = tile.input;
    const auto next = [count](auto*& array, std::int64_t stride) {
      if (array != nullptr) array += count * stride;
    };
    next(in.code, in.code_stride);
    next(in.values, in.code_stride);
    next(in.scale, in.step_stride);
    next(in.weighted, in.step_stride);
    next(in.start, in.step_stride);
    next(in.second, in.step_stride);
    tile.total += count * kTileOutputs;
  }
}

template <template <QuantizedFormat, int> class Tile, int kMax>
TileFunction tile_of(QuantizedFormat format) {
  using enum QuantizedFormat;
  switch (format) {
    case q8_0:
      return add_rows<Tile, q8_0, kMax>;
    case q4_0:
      return add_rows<Tile, q4_0, kMax>;
    case q4_k:
      return add_rows<Tile, q4_k, kMax>;
    case q6_k:
      return add_rows<Tile, q6_k, kMax>;
    case int8:
      return add_rows<Tile, int8, kMax>;
    case int4:
      return add_rows<Tile, int4, kMax>;
    case fp8:
      return add_rows<Tile, fp8, kMax>;
  }
  return nullptr;
}

}  // namespace roofcast::kernels::cpu
