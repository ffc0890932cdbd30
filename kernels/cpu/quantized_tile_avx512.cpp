// AVX512_VNNI: a strip is one vector.
#include "kernels/cpu/quantized_tile.hpp"

#if defined(__x86_64__)
// GCC 12 takes the deliberately undefined operands of its own intrinsics for mistakes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define ROOFCAST_TARGET_VNNI \
  [[gnu::target("avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]]
#define ROOFCAST_TARGET_VNNI_INLINE ROOFCAST_TARGET_VNNI [[gnu::always_inline]] static inline

namespace roofcast::kernels::cpu {
namespace {

using enum QuantizedFormat;

constexpr int kRows = 6;  // 12 sums of integers, 12 totals, 2 codes, scales: 32 registers
constexpr int kGroups = kQuantizedStep / 4;
constexpr int kSuperSteps = 8;

/// Codes of group `group` (four k of 16 outputs) of a step.
template <QuantizedFormat kFormat>
ROOFCAST_TARGET_VNNI_INLINE __m512i codes_of(const std::uint8_t* step, int group) {
  if constexpr (kFormat == q8_0 || kFormat == int8) return _mm512_loadu_si512(step + group * 64);
  const __m512i nibble = _mm512_set1_epi8(0xf);
  __m512i low = _mm512_loadu_si512(step + group % 4 * 64);
  if (group >= 4) low = _mm512_srli_epi16(low, 4);
  if constexpr (kFormat != q6_k) return _mm512_and_si512(low, nibble);
  __m512i high = _mm512_loadu_si512(step + 256 + group / 4 * 64);
  switch (group % 4) {
    case 0:
      high = _mm512_slli_epi16(high, 4);
      break;
    case 1:
      high = _mm512_slli_epi16(high, 2);
      break;
    case 2:
      break;
    default:
      high = _mm512_srli_epi16(high, 2);
  }
  constexpr int kSelect = 0xd8;  // bits of `low` where the mask is 0, else of `high`
  const __m512i both = _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(0x30), kSelect);
  return _mm512_and_si512(both, _mm512_set1_epi8(0x3f));
}

ROOFCAST_TARGET_VNNI_INLINE __m512 halves(const std::uint8_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
ROOFCAST_TARGET_VNNI_INLINE __m512 unsigned_bytes(const std::uint8_t* from) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
ROOFCAST_TARGET_VNNI_INLINE __m512 signed_bytes(const std::uint8_t* from) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

/// Scale of a step, or of half of it.
template <QuantizedFormat kFormat>
ROOFCAST_TARGET_VNNI_INLINE __m512 scale_of(const std::uint8_t* scales, std::int64_t step,
                                            int half) {
  if constexpr (kFormat == q8_0 || kFormat == q4_0) return halves(scales + step * 32);
  if constexpr (kFormat == int4) return halves(scales + step / 4 * 32);
  if constexpr (kFormat == q4_k) {
    const std::uint8_t* block = scales + step / kSuperSteps * 320;
    return _mm512_mul_ps(halves(block), unsigned_bytes(block + 64 + step % kSuperSteps * 32));
  }
  if constexpr (kFormat == q6_k) {
    const std::uint8_t* block = scales + step / kSuperSteps * 288;
    return _mm512_mul_ps(halves(block),
                         signed_bytes(block + 32 + step % kSuperSteps * 32 + half * 16));
  }
  return _mm512_set1_ps(1);
}

ROOFCAST_TARGET_VNNI_INLINE __m512 minimum_of(const std::uint8_t* scales, std::int64_t step) {
  const std::uint8_t* block = scales + step / kSuperSteps * 320;
  return _mm512_mul_ps(halves(block + 32),
                       unsigned_bytes(block + 64 + step % kSuperSteps * 32 + 16));
}

ROOFCAST_TARGET_VNNI_INLINE __m512i four_codes(const std::int8_t* from) {
  std::int32_t bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return _mm512_set1_epi32(bits);
}

/// Groups [kFirst, kLast) of a step, whose sums share a scale.
template <QuantizedFormat kFormat, int kTileRows, int kFirst, int kLast>
ROOFCAST_TARGET_VNNI_INLINE void add_groups(const QuantizedTile& tile, std::int64_t step,
                                            const std::int32_t* start,
                                            __m512 (&total)[kTileRows][kTileStrips]) {
  constexpr auto kStepBytes = kFormat == q8_0 || kFormat == int8 ? 512
                              : kFormat == q6_k                  ? 384
                                                                 : 256;
  constexpr int kHalf = kFirst == 0 ? 0 : 1;
  const QuantizedInput& in = tile.input;
  __m512i sum[kTileRows][kTileStrips];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    const __m512i first = kFormat == q4_k ? _mm512_setzero_si512()
                                          : _mm512_set1_epi32(start[r * in.step_stride + step]);
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) sum[r][c] = first;
  }
#pragma GCC unroll 8
  for (int g = kFirst; g < kLast; ++g) {
    __m512i code[kTileStrips];
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) {
      code[c] = codes_of<kFormat>(tile.code[c] + step * kStepBytes, g);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const __m512i a = four_codes(in.code + r * in.code_stride + step * kQuantizedStep + g * 4);
#pragma GCC unroll 2
      for (int c = 0; c < kTileStrips; ++c) sum[r][c] = _mm512_dpbusd_epi32(sum[r][c], code[c], a);
    }
  }
#pragma GCC unroll 2
  for (int c = 0; c < kTileStrips; ++c) {
    const __m512 scale = scale_of<kFormat>(tile.scale[c], step, kHalf);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const __m512 a = _mm512_set1_ps(in.scale[r * in.step_stride + step]);
      const __m512 both = kFormat == int8 ? a : _mm512_mul_ps(scale, a);
      total[r][c] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(sum[r][c]), total[r][c]);
    }
    if constexpr (kFormat == q4_k) {
      const __m512 minimum = minimum_of(tile.scale[c], step);
#pragma GCC unroll 8
      for (int r = 0; r < kTileRows; ++r) {
        const __m512 a = _mm512_set1_ps(in.weighted[r * in.step_stride + step]);
        total[r][c] = _mm512_fnmadd_ps(minimum, a, total[r][c]);
      }
    }
  }
}

/// Both vectors of 16 outputs of two k. fp8 as fp16 is the byte shifted by 7 with the sign moved
/// up, times 2^8, which the scale takes off.
ROOFCAST_TARGET_VNNI_INLINE void fp8_values(const std::uint8_t* from, __m512& even, __m512& odd) {
  const __m512i wide =
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  const __m512i bits =
      _mm512_and_si512(_mm512_slli_epi16(wide, 7), _mm512_set1_epi16(static_cast<short>(0xbf80)));
  even = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
  odd = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
}

/// The even and the odd k of a step are summed apart, then all added to the total: chains of 16
/// additions, many of them at once, instead of one along all of k, whose latency would decide.
template <int kTileRows>
ROOFCAST_TARGET_VNNI_INLINE void add_fp8(const QuantizedTile& tile, std::int64_t step,
                                         __m512 (&total)[kTileRows][kTileStrips]) {
  const QuantizedInput& in = tile.input;
  __m512 even[kTileRows][kTileStrips];
  __m512 odd[kTileRows][kTileStrips];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) even[r][c] = odd[r][c] = _mm512_setzero_ps();
  }
#pragma GCC unroll 4
  for (int k = 0; k < kQuantizedStep; k += 2) {
    const std::int64_t at = step * kQuantizedStep + k;
    __m512 value[kTileStrips][2];
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) {
      fp8_values(tile.code[c] + at * kStripRows, value[c][0], value[c][1]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const float* a = in.values + r * in.code_stride + at;
#pragma GCC unroll 2
      for (int c = 0; c < kTileStrips; ++c) {
        even[r][c] = _mm512_fmadd_ps(value[c][0], _mm512_set1_ps(a[0]), even[r][c]);
        odd[r][c] = _mm512_fmadd_ps(value[c][1], _mm512_set1_ps(a[1]), odd[r][c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) {
      total[r][c] = _mm512_add_ps(total[r][c], _mm512_add_ps(even[r][c], odd[r][c]));
    }
  }
}

template <QuantizedFormat kFormat, int kTileRows>
ROOFCAST_TARGET_VNNI void add_tile(const QuantizedTile& tile) {
  __m512 total[kTileRows][kTileStrips];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) {
      total[r][c] = tile.first_step == 0
                        ? _mm512_setzero_ps()
                        : _mm512_loadu_ps(tile.total + r * kTileOutputs + c * kStripRows);
    }
  }
  for (std::int64_t step = tile.first_step; step < tile.last_step; ++step) {
    fetch_next<kFormat>(tile, step);
    if constexpr (kFormat == fp8) {
      add_fp8<kTileRows>(tile, step, total);
    } else if constexpr (kFormat == q6_k) {
      add_groups<kFormat, kTileRows, 0, kGroups / 2>(tile, step, tile.input.start, total);
      add_groups<kFormat, kTileRows, kGroups / 2, kGroups>(tile, step, tile.input.second, total);
    } else {
      add_groups<kFormat, kTileRows, 0, kGroups>(tile, step, tile.input.start, total);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kTileStrips; ++c) {
      _mm512_storeu_ps(tile.total + r * kTileOutputs + c * kStripRows, total[r][c]);
    }
  }
}

template <QuantizedFormat kFormat, int kTileRows>
struct Avx512Tile {
  static void add(const QuantizedTile& tile) { add_tile<kFormat, kTileRows>(tile); }
};

}  // namespace

TileFunction avx512_vnni_tile(QuantizedFormat format) { return tile_of<Avx512Tile, kRows>(format); }

}  // namespace roofcast::kernels::cpu
#else
namespace roofcast::kernels::cpu {
TileFunction avx512_vnni_tile(QuantizedFormat format) { return portable_tile(format); }
}  // namespace roofcast::kernels::cpu
#endif
