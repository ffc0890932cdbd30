// AVX512_VNNI: a strip is one vector.
#include "kernels/cpu/quantized_tile.hpp"

#include <algorithm>

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

constexpr int kGroups = kQuantizedStep / 4;
constexpr int kSuperSteps = 8;

/// Codes of q6_k: three groups of each half take one instruction each, the fourth six.
ROOFCAST_TARGET_VNNI_INLINE __m512i six_bits(const std::uint8_t* step, int group) {
  const std::uint8_t* half = step + group / 4 * 192;
  const __m512i six = _mm512_set1_epi8(0x3f);
  if (group % 4 < 3) return _mm512_and_si512(_mm512_loadu_si512(half + group % 4 * 64), six);
  const __m512i bits01 = _mm512_srli_epi16(_mm512_loadu_si512(half), 6);
  const __m512i bits23 = _mm512_srli_epi16(_mm512_loadu_si512(half + 64), 4);
  const __m512i bits45 = _mm512_srli_epi16(_mm512_loadu_si512(half + 128), 2);
  constexpr int kSelect = 0xd8;  // of the first where the mask has 0, else of the second
  const __m512i low = _mm512_ternarylogic_epi32(bits01, bits23, _mm512_set1_epi8(0x0c), kSelect);
  const __m512i all = _mm512_ternarylogic_epi32(low, bits45, _mm512_set1_epi8(0x30), kSelect);
  return _mm512_and_si512(all, six);
}

/// Codes of group `group` (four k of 16 outputs) of a step.
template <QuantizedFormat kFormat>
ROOFCAST_TARGET_VNNI_INLINE __m512i codes_of(const std::uint8_t* step, int group) {
  if constexpr (kFormat == q8_0 || kFormat == int8) return _mm512_loadu_si512(step + group * 64);
  if constexpr (kFormat == q6_k) return six_bits(step, group);
  __m512i low = _mm512_loadu_si512(step + group % 4 * 64);
  if (group >= 4) low = _mm512_srli_epi16(low, 4);
  return _mm512_and_si512(low, _mm512_set1_epi8(0xf));
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

/// What eight steps of q4_k or q6_k share; of the others nothing.
struct SuperScales {
  __m512 d[kTileStrips];
  __m512 dmin[kTileStrips];  // q4_k
};

/// Bytes of the scales of eight steps of a strip; 0: none are shared.
constexpr std::int64_t super_bytes(QuantizedFormat format) {
  return format == q4_k ? 320 : format == q6_k ? 288 : 0;
}

template <QuantizedFormat kFormat>
ROOFCAST_TARGET_VNNI_INLINE void load_super(const QuantizedTile& tile, std::int64_t step,
                                            SuperScales& super) {
  const std::int64_t at = step / kSuperSteps * super_bytes(kFormat);
#pragma GCC unroll 2
  for (int c = 0; c < kTileStrips; ++c) {
    super.d[c] = halves(tile.scale[c] + at);
    if constexpr (kFormat == q4_k) super.dmin[c] = halves(tile.scale[c] + at + 32);
  }
}

/// Scale of a step, or of half of it.
template <QuantizedFormat kFormat>
ROOFCAST_TARGET_VNNI_INLINE __m512 scale_of(const std::uint8_t* scales, std::int64_t step, int half,
                                            __m512 d) {
  if constexpr (kFormat == q8_0 || kFormat == q4_0) return halves(scales + step * 32);
  if constexpr (kFormat == int4) return halves(scales + step / 4 * 32);
  const std::uint8_t* block = scales + step / kSuperSteps * super_bytes(kFormat);
  const std::int64_t at = step % kSuperSteps * 32;
  if constexpr (kFormat == q4_k) return _mm512_mul_ps(d, unsigned_bytes(block + 64 + at));
  if constexpr (kFormat == q6_k) return _mm512_mul_ps(d, signed_bytes(block + 32 + at + half * 16));
  return _mm512_set1_ps(1);
}

ROOFCAST_TARGET_VNNI_INLINE __m512 minimum_of(const std::uint8_t* scales, std::int64_t step,
                                              __m512 dmin) {
  const std::uint8_t* block = scales + step / kSuperSteps * super_bytes(q4_k);
  return _mm512_mul_ps(dmin, unsigned_bytes(block + 64 + step % kSuperSteps * 32 + 16));
}

ROOFCAST_TARGET_VNNI_INLINE __m512i four_codes(const std::int8_t* from) {
  std::int32_t bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return _mm512_set1_epi32(bits);
}

/// Groups [kFirst, kLast) of a step, whose sums share a scale.
template <QuantizedFormat kFormat, int kTileRows, int kFirst, int kLast>
ROOFCAST_TARGET_VNNI_INLINE void add_groups(const QuantizedTile& tile, std::int64_t step,
                                            const std::int32_t* start, const SuperScales& super,
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
    const __m512 scale = scale_of<kFormat>(tile.scale[c], step, kHalf, super.d[c]);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const __m512 a = _mm512_set1_ps(in.scale[r * in.step_stride + step]);
      const __m512 both = kFormat == int8 ? a : _mm512_mul_ps(scale, a);
      total[r][c] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(sum[r][c]), total[r][c]);
    }
    if constexpr (kFormat == q4_k) {
      const __m512 minimum = minimum_of(tile.scale[c], step, super.dmin[c]);
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

/// Sums of the even and of the odd k: twice as many chains of additions at once, since with few
/// rows their latency would decide.
template <int kTileRows>
ROOFCAST_TARGET_VNNI_INLINE void add_fp8(const QuantizedTile& tile, std::int64_t step,
                                         __m512 (&even)[kTileRows][kTileStrips],
                                         __m512 (&odd)[kTileRows][kTileStrips]) {
  const QuantizedInput& in = tile.input;
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
}

/// Adds kFp8Steps steps at a time to the totals, which stay in memory meanwhile: with them beside
/// the sums of six rows there were more vectors than registers.
template <int kTileRows>
ROOFCAST_TARGET_VNNI void add_fp8_tile(const QuantizedTile& tile) {
  for (std::int64_t first = tile.first_step; first < tile.last_step; first += kFp8Steps) {
    const std::int64_t last = std::min(first + kFp8Steps, tile.last_step);
    __m512 even[kTileRows][kTileStrips];
    __m512 odd[kTileRows][kTileStrips];
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kTileStrips; ++c) even[r][c] = odd[r][c] = _mm512_setzero_ps();
    }
    for (std::int64_t step = first; step < last; ++step) {
      fetch_next<fp8>(tile, step);
      add_fp8<kTileRows>(tile, step, even, odd);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kTileStrips; ++c) {
        float* total = tile.total + r * kTileOutputs + c * kStripRows;
        const __m512 before = first == 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(total);
        _mm512_storeu_ps(total, _mm512_add_ps(before, _mm512_add_ps(even[r][c], odd[r][c])));
      }
    }
  }
}

template <QuantizedFormat kFormat, int kTileRows>
ROOFCAST_TARGET_VNNI void add_integer_tile(const QuantizedTile& tile) {
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
  SuperScales super{};
  for (std::int64_t step = tile.first_step; step < tile.last_step; ++step) {
    fetch_next<kFormat>(tile, step);
    if constexpr (super_bytes(kFormat) > 0) {  // parts begin at multiples of eight steps
      if (step % kSuperSteps == 0) load_super<kFormat>(tile, step, super);
    }
    if constexpr (kFormat == q6_k) {
      add_groups<kFormat, kTileRows, 0, kGroups / 2>(tile, step, tile.input.start, super, total);
      add_groups<kFormat, kTileRows, kGroups / 2, kGroups>(tile, step, tile.input.second, super,
                                                           total);
    } else {
      add_groups<kFormat, kTileRows, 0, kGroups>(tile, step, tile.input.start, super, total);
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
  static void add(const QuantizedTile& tile) {
    if constexpr (kFormat == fp8) {
      add_fp8_tile<kTileRows>(tile);
    } else {
      add_integer_tile<kFormat, kTileRows>(tile);
    }
  }
};

}  // namespace

TileFunction avx512_vnni_tile(QuantizedFormat format) {
  return tile_of<Avx512Tile, kAvx512TileRows>(format);
}

}  // namespace roofcast::kernels::cpu
#else
namespace roofcast::kernels::cpu {
TileFunction avx512_vnni_tile(QuantizedFormat format) { return portable_tile(format); }
}  // namespace roofcast::kernels::cpu
#endif
