// AVX2, with VPDPBUSD where the processor has AVX-VNNI: a strip is two vectors.
//
// Without VPDPBUSD, VPMADDUBSW adds two products of an unsigned and a signed byte into 16 bits.
// Codes of 4 bits cannot overflow them in a whole step (16 * 15 * 127 = 30,480); of 6 bits not in
// two groups (4 * 63 * 127 = 32,004); of 8 bits the sign moves from the code to the input, whose
// products are at most 128 * 127 then, two of which fit.
#include "kernels/cpu/quantized_tile.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/isa.hpp"

#define ROOFCAST_TARGET_INLINE ROOFCAST_TARGET_AVX2 [[gnu::always_inline]] static inline

namespace roofcast::kernels::cpu {
namespace {

using enum QuantizedFormat;

constexpr int kHalves = 2;  // of a strip
constexpr int kLanes = 8;
constexpr int kGroups = kQuantizedStep / 4;
constexpr int kSuperSteps = 8;

constexpr bool is_eight_bit(QuantizedFormat format) { return format == q8_0 || format == int8; }

ROOFCAST_TARGET_INLINE __m256i load(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// Codes of q6_k: three groups of each half of the step take one instruction each.
ROOFCAST_TARGET_INLINE __m256i six_bits(const std::uint8_t* step, int group, int half) {
  const std::uint8_t* from = step + group / 4 * 192 + half * 32;
  if (group % 4 < 3) {
    return _mm256_and_si256(load(from + group % 4 * 64), _mm256_set1_epi8(0x3f));
  }
  const __m256i bits01 = _mm256_srli_epi16(load(from), 6);
  const __m256i bits23 = _mm256_srli_epi16(load(from + 64), 4);
  const __m256i bits45 = _mm256_srli_epi16(load(from + 128), 2);
  const __m256i low = _mm256_or_si256(_mm256_and_si256(bits01, _mm256_set1_epi8(0x03)),
                                      _mm256_and_si256(bits23, _mm256_set1_epi8(0x0c)));
  return _mm256_or_si256(low, _mm256_and_si256(bits45, _mm256_set1_epi8(0x30)));
}

/// Codes of group `group` (four k of 8 outputs) of a step.
template <QuantizedFormat kFormat>
ROOFCAST_TARGET_INLINE __m256i codes_of(const std::uint8_t* step, int group, int half) {
  if constexpr (is_eight_bit(kFormat)) return load(step + group * 64 + half * 32);
  if constexpr (kFormat == q6_k) return six_bits(step, group, half);
  __m256i low = load(step + group % 4 * 64 + half * 32);
  if (group >= 4) low = _mm256_srli_epi16(low, 4);
  return _mm256_and_si256(low, _mm256_set1_epi8(0xf));
}

ROOFCAST_TARGET_INLINE __m256 halves(const std::uint8_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
ROOFCAST_TARGET_INLINE __m256 unsigned_bytes(const std::uint8_t* from) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
ROOFCAST_TARGET_INLINE __m256 signed_bytes(const std::uint8_t* from) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

/// Scales of a step, or of the part of it that shares them, for half of the strip.
template <QuantizedFormat kFormat>
ROOFCAST_TARGET_INLINE __m256 scale_of(const std::uint8_t* scales, std::int64_t step, int part,
                                       int half) {
  if constexpr (kFormat == q8_0 || kFormat == q4_0) return halves(scales + step * 32 + half * 16);
  if constexpr (kFormat == int4) return halves(scales + step / 4 * 32 + half * 16);
  if constexpr (kFormat == q4_k) {
    const std::uint8_t* block = scales + step / kSuperSteps * 320;
    return _mm256_mul_ps(halves(block + half * 16),
                         unsigned_bytes(block + 64 + step % kSuperSteps * 32 + half * 8));
  }
  if constexpr (kFormat == q6_k) {
    const std::uint8_t* block = scales + step / kSuperSteps * 288;
    return _mm256_mul_ps(halves(block + half * 16),
                         signed_bytes(block + 32 + step % kSuperSteps * 32 + part * 16 + half * 8));
  }
  return _mm256_set1_ps(1);
}

ROOFCAST_TARGET_INLINE __m256 minimum_of(const std::uint8_t* scales, std::int64_t step, int half) {
  const std::uint8_t* block = scales + step / kSuperSteps * 320;
  return _mm256_mul_ps(halves(block + 32 + half * 16),
                       unsigned_bytes(block + 64 + step % kSuperSteps * 32 + 16 + half * 8));
}

ROOFCAST_TARGET_INLINE __m256i four_codes(const std::int8_t* from) {
  std::int32_t bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return _mm256_set1_epi32(bits);
}

/// sum += the products of four neighbours, 8 outputs. In assembly: the intrinsic needs a target
/// that the function does not have.
ROOFCAST_TARGET_INLINE void add_dot(__m256i& sum, __m256i code, __m256i a) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(code), "x"(a));
}

ROOFCAST_TARGET_INLINE __m256i pairs_of(__m256i sums16) {
  return _mm256_madd_epi16(sums16, _mm256_set1_epi16(1));
}

/// Groups [kFirst, kLast) of a step, whose sums share a scale, of one strip.
template <bool kVnni, QuantizedFormat kFormat, int kTileRows, int kFirst, int kLast>
ROOFCAST_TARGET_INLINE void add_groups(const QuantizedTile& tile, int strip, std::int64_t step,
                                       const std::int32_t* start,
                                       __m256 (&total)[kTileRows][kHalves]) {
  constexpr auto kStepBytes = is_eight_bit(kFormat) ? 512 : kFormat == q6_k ? 384 : 256;
  constexpr int kPart = kFirst == 0 ? 0 : 1;
  // The signed form of 8-bit codes has no offset.
  constexpr bool kStarts = kFormat != q4_k && (kVnni || !is_eight_bit(kFormat));
  constexpr int kNarrow = kFormat == q6_k ? 2 : kLast - kFirst;  // groups that 16 bits hold
  const QuantizedInput& in = tile.input;
  const std::uint8_t* codes = tile.code[strip] + step * kStepBytes;
  __m256i sum[kTileRows][kHalves];
  __m256i narrow[kTileRows][kHalves];
#pragma GCC unroll 4
  for (int r = 0; r < kTileRows; ++r) {
    const __m256i first =
        kStarts ? _mm256_set1_epi32(start[r * in.step_stride + step]) : _mm256_setzero_si256();
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      sum[r][h] = first;
      narrow[r][h] = _mm256_setzero_si256();
    }
  }
#pragma GCC unroll 8
  for (int g = kFirst; g < kLast; ++g) {
    __m256i code[kHalves];
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) code[h] = codes_of<kFormat>(codes, g, h);
#pragma GCC unroll 4
    for (int r = 0; r < kTileRows; ++r) {
      const __m256i a = four_codes(in.code + r * in.code_stride + step * kQuantizedStep + g * 4);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        if constexpr (kVnni) {
          add_dot(sum[r][h], code[h], a);
        } else if constexpr (is_eight_bit(kFormat)) {
          const __m256i signed_code = _mm256_xor_si256(code[h], _mm256_set1_epi8(-128));
          const __m256i pairs =
              _mm256_maddubs_epi16(_mm256_abs_epi8(signed_code), _mm256_sign_epi8(a, signed_code));
          sum[r][h] = _mm256_add_epi32(sum[r][h], pairs_of(pairs));
        } else {
          narrow[r][h] = _mm256_add_epi16(narrow[r][h], _mm256_maddubs_epi16(code[h], a));
          if ((g - kFirst) % kNarrow == kNarrow - 1) {
            sum[r][h] = _mm256_add_epi32(sum[r][h], pairs_of(narrow[r][h]));
            narrow[r][h] = _mm256_setzero_si256();
          }
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int h = 0; h < kHalves; ++h) {
    const __m256 scale = scale_of<kFormat>(tile.scale[strip], step, kPart, h);
#pragma GCC unroll 4
    for (int r = 0; r < kTileRows; ++r) {
      const __m256 a = _mm256_set1_ps(in.scale[r * in.step_stride + step]);
      const __m256 both = kFormat == int8 ? a : _mm256_mul_ps(scale, a);
      total[r][h] = _mm256_fmadd_ps(both, _mm256_cvtepi32_ps(sum[r][h]), total[r][h]);
    }
    if constexpr (kFormat == q4_k) {
      const __m256 minimum = minimum_of(tile.scale[strip], step, h);
#pragma GCC unroll 4
      for (int r = 0; r < kTileRows; ++r) {
        const __m256 a = _mm256_set1_ps(in.weighted[r * in.step_stride + step]);
        total[r][h] = _mm256_fnmadd_ps(minimum, a, total[r][h]);
      }
    }
  }
}

/// fp8 as fp16 is the byte shifted by 7 with the sign moved up, times 2^8, which the scale takes
/// off.
ROOFCAST_TARGET_INLINE __m256 fp8_values(const std::uint8_t* from) {
  const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  return _mm256_cvtph_ps(
      _mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(static_cast<short>(0xbf80))));
}

template <int kTileRows>
ROOFCAST_TARGET_INLINE void add_fp8(const QuantizedTile& tile, int strip, std::int64_t step,
                                    __m256 (&total)[kTileRows][kHalves]) {
  const QuantizedInput& in = tile.input;
#pragma GCC unroll 4
  for (int k = 0; k < kQuantizedStep; ++k) {
    const std::int64_t at = step * kQuantizedStep + k;
    __m256 value[kHalves];
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      value[h] = fp8_values(tile.code[strip] + at * kStripRows + h * kLanes);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kTileRows; ++r) {
      const __m256 a = _mm256_set1_ps(in.values[r * in.code_stride + at]);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) total[r][h] = _mm256_fmadd_ps(value[h], a, total[r][h]);
    }
  }
}

template <bool kVnni, QuantizedFormat kFormat, int kTileRows>
ROOFCAST_TARGET_AVX2 void add_strip(const QuantizedTile& tile, int strip) {
  __m256 total[kTileRows][kHalves];
  float* totals = tile.total + strip * kStripRows;
#pragma GCC unroll 4
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      total[r][h] = tile.first_step == 0 ? _mm256_setzero_ps()
                                         : _mm256_loadu_ps(totals + r * kTileOutputs + h * kLanes);
    }
  }
  for (std::int64_t step = tile.first_step; step < tile.last_step; ++step) {
    const std::int32_t* start = tile.input.start;
    if constexpr (kFormat == fp8) {
      add_fp8<kTileRows>(tile, strip, step, total);
    } else if constexpr (kFormat == q6_k) {
      add_groups<kVnni, kFormat, kTileRows, 0, kGroups / 2>(tile, strip, step, start, total);
      add_groups<kVnni, kFormat, kTileRows, kGroups / 2, kGroups>(tile, strip, step,
                                                                  tile.input.second, total);
    } else {
      add_groups<kVnni, kFormat, kTileRows, 0, kGroups>(tile, strip, step, start, total);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      _mm256_storeu_ps(totals + r * kTileOutputs + h * kLanes, total[r][h]);
    }
  }
}

template <bool kVnni, QuantizedFormat kFormat, int kTileRows>
void add_strips(const QuantizedTile& tile) {
  for (int strip = 0; strip < kTileStrips; ++strip) {
    add_strip<kVnni, kFormat, kTileRows>(tile, strip);
  }
}

template <QuantizedFormat kFormat, int kTileRows>
struct Avx2Tile {
  static void add(const QuantizedTile& tile) { add_strips<false, kFormat, kTileRows>(tile); }
};
template <QuantizedFormat kFormat, int kTileRows>
struct VnniTile {
  static void add(const QuantizedTile& tile) { add_strips<true, kFormat, kTileRows>(tile); }
};

}  // namespace

TileFunction avx2_tile(QuantizedFormat format) { return tile_of<Avx2Tile, kAvx2TileRows>(format); }
TileFunction avx_vnni_tile(QuantizedFormat format) {
  return tile_of<VnniTile, kAvx2TileRows>(format);
}

}  // namespace roofcast::kernels::cpu
#else
namespace roofcast::kernels::cpu {
TileFunction avx2_tile(QuantizedFormat format) { return portable_tile(format); }
TileFunction avx_vnni_tile(QuantizedFormat format) { return portable_tile(format); }
}  // namespace roofcast::kernels::cpu
#endif
