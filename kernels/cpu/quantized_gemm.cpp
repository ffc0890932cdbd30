#include "kernels/cpu/quantized_gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/ceil_divide.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/quantized_tile.hpp"
#include "kernels/cpu/vector.hpp"
#include "kernels/cpu/with_element.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace roofcast::kernels::cpu {
namespace {

constexpr std::int64_t kLine = 64;
/// Rows of a block: their codes of a part of k, 48 KiB, stay in L2.
constexpr int kBlockRows = 96;
/// Up to one tile of AVX-512, memory decides the time.
constexpr int kStreamedRows = kAvx512TileRows;

std::int64_t aligned_up(std::int64_t bytes) { return ceil_divide(bytes, kLine) * kLine; }

/// Where the rows of the workspace are; the layout that workspace_bytes() counts.
struct Workspace {
  std::int8_t* code = nullptr;
  float* values = nullptr;  // fp8 weights, then alone
  float* scale = nullptr;
  float* weighted = nullptr;
  std::int32_t* start = nullptr;
  std::int32_t* second = nullptr;
  std::int64_t code_stride = 0;
  std::int64_t step_stride = 0;
};

Workspace workspace_of(const QuantizedGemm& gemm) {
  const std::int64_t k = gemm.shape.k;
  if (gemm.shape.format == QuantizedFormat::fp8) {
    return {.values = static_cast<float*>(gemm.workspace), .code_stride = aligned_up(k * 4) / 4};
  }
  const std::int64_t step_bytes = aligned_up(gemm.shape.steps() * 4);
  Workspace w{.code = static_cast<std::int8_t*>(gemm.workspace),
              .code_stride = aligned_up(k),
              .step_stride = step_bytes / 4};
  auto* arrays = reinterpret_cast<std::uint8_t*>(w.code) + gemm.m * w.code_stride;
  const auto array = [&](int i) { return arrays + i * gemm.m * step_bytes; };
  w.scale = reinterpret_cast<float*>(array(0));
  w.weighted = reinterpret_cast<float*>(array(1));
  w.start = reinterpret_cast<std::int32_t*>(array(2));
  w.second = reinterpret_cast<std::int32_t*>(array(3));
  return w;
}

QuantizedInput input_of(const Workspace& w, std::int64_t row) {
  if (w.values != nullptr) {
    return {.values = w.values + row * w.code_stride, .code_stride = w.code_stride};
  }
  const std::int64_t at = row * w.step_stride;
  return {.code = w.code + row * w.code_stride,
          .scale = w.scale + at,
          .weighted = w.weighted + at,
          .start = w.start + at,
          .second = w.second + at,
          .code_stride = w.code_stride,
          .step_stride = w.step_stride};
}

/// What the unsigned codes are above the signed ones; q4_k has minima instead.
int offset_of(QuantizedFormat format) {
  switch (format) {
    case QuantizedFormat::q8_0:
    case QuantizedFormat::int8:
      return 128;
    case QuantizedFormat::q4_0:
    case QuantizedFormat::int4:
      return 8;
    case QuantizedFormat::q6_k:
      return 32;
    default:
      return 0;
  }
}

/// A step of a row: codes x / scale rounded to nearest, scale = max|x| / 127, or zeros below
/// kLeastMagnitude. `sum` of both halves.
struct QuantizedStepOf {
  float scale = 0;
  std::int32_t sum[2]{};
};

/// 127 over less than 127 / 3.4e38 = 3.7e-37 is infinite, and infinity times 0 not a number.
constexpr float kLeastMagnitude = 1e-30F;

template <class T>
[[gnu::always_inline]] inline QuantizedStepOf quantize_step(const T* input, std::int8_t* code) {
  constexpr float kWhole = 0x1.8p23F;  // adding it rounds to a whole number, ties to even
  float value[kQuantizedStep];
  float magnitude[kQuantizedStep];
  for (int i = 0; i < kQuantizedStep; ++i) value[i] = to_float(input[i]);
  for (int i = 0; i < kQuantizedStep; ++i) magnitude[i] = value[i] < 0 ? -value[i] : value[i];
  for (int half = kQuantizedStep / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      magnitude[i] = magnitude[i] > magnitude[i + half] ? magnitude[i] : magnitude[i + half];
    }
  }
  const bool counts = magnitude[0] >= kLeastMagnitude;
  QuantizedStepOf result{.scale = counts ? magnitude[0] / 127 : 0};
  const float inverse = counts ? 127 / magnitude[0] : 0;
  std::int32_t whole[kQuantizedStep];
  for (int i = 0; i < kQuantizedStep; ++i) {
    whole[i] = static_cast<std::int32_t>(value[i] * inverse + kWhole - kWhole);
  }
  for (int i = 0; i < kQuantizedStep; ++i) code[i] = static_cast<std::int8_t>(whole[i]);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < kQuantizedStep / 2; ++i) {
      result.sum[half] += whole[half * kQuantizedStep / 2 + i];
    }
  }
  return result;
}

template <class T>
ROOFCAST_CLONES void quantize_row(const T* input, std::int64_t steps, QuantizedFormat format,
                                  const Workspace& w, std::int64_t row) {
  std::int8_t* code = w.code + row * w.code_stride;
  const std::int64_t at = row * w.step_stride;
  const int offset = offset_of(format);
  const bool halves = format == QuantizedFormat::q6_k;
  for (std::int64_t s = 0; s < steps; ++s) {
    const QuantizedStepOf step =
        quantize_step(input + s * kQuantizedStep, code + s * kQuantizedStep);
    const std::int32_t sum = step.sum[0] + step.sum[1];
    w.scale[at + s] = step.scale;
    w.weighted[at + s] = step.scale * static_cast<float>(sum);
    w.start[at + s] = -offset * (halves ? step.sum[0] : sum);
    w.second[at + s] = -offset * step.sum[1];
  }
}

template <class T>
ROOFCAST_CLONES void widen_row(const T* input, std::int64_t k, float* values) {
  for (std::int64_t i = 0; i < k; ++i) values[i] = to_float(input[i]);
}

void prepare_input(const QuantizedGemm& gemm, const Workspace& w, ThreadPool& pool) {
  const std::int64_t k = gemm.shape.k;
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{16} << 10) / k);
  with_plain(gemm.element, [&](auto element) {
    using T = decltype(element);
    pool.for_ranges(gemm.m, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* input = static_cast<const T*>(gemm.input) + row * k;
        if (w.values != nullptr) {
          widen_row(input, k, w.values + row * w.code_stride);
        } else {
          quantize_row(input, gemm.shape.steps(), gemm.shape.format, w, row);
        }
      }
    });
  });
}

/// The factor of an output that is not in its steps.
float output_scale(const PackedWeight& shape, const std::uint8_t* scales, int output) {
  if (shape.format != QuantizedFormat::int8 && shape.format != QuantizedFormat::fp8) return 1;
  constexpr float kFp8Bias = 0x1p8F;  // fp8 codes are multiplied as 2^-8 of their value
  float scale = 0;
  std::memcpy(&scale, scales + static_cast<std::size_t>(output) * sizeof scale, sizeof scale);
  return shape.format == QuantizedFormat::fp8 ? scale * kFp8Bias : scale;
}

template <class T>
ROOFCAST_CLONES void store_rows(const float* total, const float* scale, std::int64_t rows,
                                std::int64_t columns, T* output, std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      output[r * stride + c] = from_float<T>(total[r * kTileOutputs + c] * scale[c]);
    }
  }
}

/// Rows [m.begin, m.end) times strips [first, first + 2).
void compute_block(const QuantizedGemm& gemm, const Workspace& w, TileFunction function, Range m,
                   std::int64_t first) {
  alignas(kLine) float total[kBlockRows * kTileOutputs];
  alignas(kLine) float scale[kTileOutputs];
  const PackedWeight& shape = gemm.shape;
  const auto* weight = static_cast<const std::uint8_t*>(gemm.weight);
  QuantizedTile tile{.input = input_of(w, m.begin), .total = total};
  for (int strip = 0; strip < kTileStrips; ++strip) {
    const std::int64_t index = std::min(first + strip, shape.strips() - 1);
    tile.code[strip] = weight + static_cast<std::size_t>(index) * shape.strip_bytes();
    tile.scale[strip] = tile.code[strip] + shape.code_bytes();
    for (int output = 0; output < kStripRows; ++output) {
      scale[strip * kStripRows + output] = output_scale(shape, tile.scale[strip], output);
    }
  }
  const std::int64_t rows = m.end - m.begin;
  const bool streams = rows <= kStreamedRows;  // few rows: in memory order
  const std::int64_t part = streams ? shape.steps() : kBlockSteps;
  if (streams && first + kTileStrips < shape.strips()) {
    tile.next = weight + static_cast<std::size_t>(first + kTileStrips) * shape.strip_bytes();
  }
  for (std::int64_t step = 0; step < shape.steps(); step += part) {
    tile.first_step = step;
    tile.last_step = std::min(step + part, shape.steps());
    function(tile, rows);
  }
  const std::int64_t column = first * kStripRows;
  const std::int64_t columns = std::min<std::int64_t>(kTileOutputs, shape.n - column);
  const std::int64_t stride = gemm.output_stride > 0 ? gemm.output_stride : shape.n;
  with_plain(gemm.element, [&](auto element) {
    using T = decltype(element);
    store_rows(total, scale, rows, columns,
               static_cast<T*>(gemm.output) + m.begin * stride + column, stride);
  });
}

TileFunction function_for(QuantizedFormat format, DotIsa isa) {
  switch (isa) {
    case DotIsa::portable:
      break;
    case DotIsa::avx2:
      return avx2_tile(format);
    case DotIsa::avx_vnni:
      return avx_vnni_tile(format);
    case DotIsa::avx512_vnni:
      return avx512_vnni_tile(format);
  }
  return portable_tile(format);
}

int tile_rows(DotIsa isa) {
  switch (isa) {
    case DotIsa::portable:
      break;
    case DotIsa::avx2:
    case DotIsa::avx_vnni:
      return kAvx2TileRows;
    case DotIsa::avx512_vnni:
      return kAvx512TileRows;
  }
  return 1;
}

}  // namespace

bool has(DotIsa isa) {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  switch (isa) {
    case DotIsa::portable:
      return true;
    case DotIsa::avx2:
      return has(Isa::avx2);
    case DotIsa::avx_vnni:  // leaf 7, subleaf 1, EAX bit 4 (Intel SDM, CPUID)
      return has(Isa::avx2) && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1U) != 0;
    case DotIsa::avx512_vnni:  // leaf 7, subleaf 0, ECX bit 11
      return has(Isa::avx512) && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
             (c >> 11 & 1U) != 0;
  }
#endif
  return isa == DotIsa::portable;
}

DotIsa best_dot_isa() {
  for (const DotIsa isa : {DotIsa::avx512_vnni, DotIsa::avx_vnni, DotIsa::avx2}) {
    if (has(isa)) return isa;
  }
  return DotIsa::portable;
}

std::string_view name_of(DotIsa isa) {
  switch (isa) {
    case DotIsa::portable:
      return "portable";
    case DotIsa::avx2:
      return "avx2";
    case DotIsa::avx_vnni:
      return "avx_vnni";
    case DotIsa::avx512_vnni:
      return "avx512_vnni";
  }
  return "";
}

RowForm quantized_row_form(DotIsa isa) {
  return {.tile = tile_rows(isa), .streamed = kStreamedRows, .block = kBlockRows};
}

void quantized_gemm(const QuantizedGemm& gemm, ThreadPool& pool, DotIsa isa) {
  check(gemm);
  if (gemm.m == 0) return;
  const Workspace w = workspace_of(gemm);
  prepare_input(gemm, w, pool);
  const TileFunction function = function_for(gemm.shape.format, isa);
  const std::int64_t row_blocks = ceil_divide(gemm.m, kBlockRows);
  const std::int64_t rows = ceil_divide(gemm.m, row_blocks);
  const std::int64_t blocks = row_blocks * ceil_divide(gemm.shape.strips(), kTileStrips);
  // Consecutive blocks share their part of the weight.
  pool.for_ranges(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block % row_blocks * rows;
      const Range m{.begin = first, .end = std::min(first + rows, gemm.m)};
      if (m.begin < m.end) {
        compute_block(gemm, w, function, m, block / row_blocks * kTileStrips);
      }
    }
  });
}

}  // namespace roofcast::kernels::cpu
