// Plain C++ that the compiler vectorises over the outputs of a strip.
#include <array>

#include "kernels/cpu/quantized_tile.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {
namespace {

using enum QuantizedFormat;

constexpr int kGroups = kQuantizedStep / 4;
constexpr int kSuperSteps = 8;

using Totals = std::array<float, kStripRows>;
using Sums = std::array<std::int32_t, kStripRows>;

template <QuantizedFormat kFormat>
int code_at(const std::uint8_t* step, int group, int place) {
  if constexpr (kFormat == q8_0 || kFormat == int8) return step[group * 64 + place];
  if constexpr (kFormat == q6_k) {
    const std::uint8_t* half = step + group / 4 * 192 + place;
    if (group % 4 < 3) return half[group % 4 * 64] & 0x3f;
    return (half[0] >> 6) | (half[64] >> 6 << 2) | (half[128] >> 6 << 4);
  }
  return (step[group % 4 * 64 + place] >> (group / 4 * 4)) & 0xf;
}

float half_at(const std::uint8_t* from, int output) {
  Fp16 value;
  __builtin_memcpy(&value, from + output * 2, sizeof value);
  return to_float(value);
}

template <QuantizedFormat kFormat>
float scale_of(const std::uint8_t* scales, std::int64_t step, int half, int output) {
  if constexpr (kFormat == q8_0 || kFormat == q4_0) return half_at(scales + step * 32, output);
  if constexpr (kFormat == int4) return half_at(scales + step / 4 * 32, output);
  const std::int64_t at = step % kSuperSteps * 32;
  if constexpr (kFormat == q4_k) {
    const std::uint8_t* block = scales + step / kSuperSteps * 320;
    return half_at(block, output) * block[64 + at + output];
  }
  if constexpr (kFormat == q6_k) {
    const std::uint8_t* block = scales + step / kSuperSteps * 288;
    return half_at(block, output) * static_cast<std::int8_t>(block[32 + at + half * 16 + output]);
  }
  return 1;
}

float minimum_of(const std::uint8_t* scales, std::int64_t step, int output) {
  const std::uint8_t* block = scales + step / kSuperSteps * 320;
  return half_at(block + 32, output) * block[64 + step % kSuperSteps * 32 + 16 + output];
}

/// Groups [first, last) of a step, whose sums share a scale.
template <QuantizedFormat kFormat>
void add_groups(const QuantizedInput& in, const std::uint8_t* codes, const std::uint8_t* scales,
                std::int64_t step, int first, int last, Totals& total) {
  constexpr auto kStepBytes = kFormat == q8_0 || kFormat == int8 ? 512
                              : kFormat == q6_k                  ? 384
                                                                 : 256;
  const std::int32_t* start = first == 0 ? in.start : in.second;
  Sums sum;
  sum.fill(kFormat == q4_k ? 0 : start[step]);
  for (int g = first; g < last; ++g) {
    for (int output = 0; output < kStripRows; ++output) {
      std::int32_t dot = 0;
      for (int i = 0; i < 4; ++i) {
        dot += code_at<kFormat>(codes + step * kStepBytes, g, output * 4 + i) *
               in.code[step * kQuantizedStep + g * 4 + i];
      }
      sum[static_cast<std::size_t>(output)] += dot;
    }
  }
  for (int output = 0; output < kStripRows; ++output) {
    const auto o = static_cast<std::size_t>(output);
    const float scale = scale_of<kFormat>(scales, step, first == 0 ? 0 : 1, output);
    total[o] += scale * in.scale[step] * static_cast<float>(sum[o]);
    if constexpr (kFormat == q4_k) total[o] -= minimum_of(scales, step, output) * in.weighted[step];
  }
}

void add_fp8(const QuantizedInput& in, const std::uint8_t* codes, std::int64_t step,
             Totals& total) {
  constexpr float kBias = 0x1p-8F;  // the scale takes 2^8 off, for the other instruction sets
  for (int k = 0; k < kQuantizedStep; ++k) {
    const std::int64_t at = step * kQuantizedStep + k;
    for (int output = 0; output < kStripRows; ++output) {
      total[static_cast<std::size_t>(output)] +=
          to_float(Fp8E4M3{codes[at * kStripRows + output]}) * kBias * in.values[at];
    }
  }
}

template <QuantizedFormat kFormat, int kTileRows>
struct PortableTile {
  static_assert(kTileRows == 1);
  static void add(const QuantizedTile& tile) {
    for (int strip = 0; strip < kTileStrips; ++strip) {
      float* totals = tile.total + strip * kStripRows;
      const std::uint8_t* codes = tile.code[strip];
      const std::uint8_t* scales = tile.scale[strip];
      Totals total{};
      if (tile.first_step > 0) __builtin_memcpy(total.data(), totals, sizeof total);
      for (std::int64_t step = tile.first_step; step < tile.last_step; ++step) {
        if constexpr (kFormat == fp8) {
          add_fp8(tile.input, codes, step, total);
        } else if constexpr (kFormat == q6_k) {
          add_groups<kFormat>(tile.input, codes, scales, step, 0, kGroups / 2, total);
          add_groups<kFormat>(tile.input, codes, scales, step, kGroups / 2, kGroups, total);
        } else {
          add_groups<kFormat>(tile.input, codes, scales, step, 0, kGroups, total);
        }
      }
      __builtin_memcpy(totals, total.data(), sizeof total);
    }
  }
};

}  // namespace

TileFunction portable_tile(QuantizedFormat format) { return tile_of<PortableTile, 1>(format); }

}  // namespace roofcast::kernels::cpu
