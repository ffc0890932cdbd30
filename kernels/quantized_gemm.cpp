#include "kernels/quantized_gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/ceil_divide.hpp"
#include "kernels/check.hpp"
#include "kernels/normal_values.hpp"

namespace roofcast::kernels {
namespace {

constexpr std::size_t kLine = 64;
constexpr int kSuperBlock = 256;                           // values that share a k-quant's d
constexpr int kSuperSteps = kSuperBlock / kQuantizedStep;  // 8
constexpr int kInt4Group = 128;
constexpr std::size_t kHalves = kStripRows * sizeof(Fp16);   // fp16 [16]
constexpr std::size_t kFloats = kStripRows * sizeof(float);  // fp32 [16]

constexpr std::size_t aligned_up(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

/// Codes of one step of one row, unsigned, and what scales them. `scale` and `minimum` are a
/// k-quant's small integers; q6_k has a scale per half step.
struct Step {
  std::array<std::uint8_t, kQuantizedStep> code{};
  Fp16 d{};
  Fp16 dmin{};
  std::array<std::uint8_t, 2> scale{};
  std::uint8_t minimum = 0;
};

Fp16 half_at(const std::uint8_t* from) {
  Fp16 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Step q8_0_step(const std::uint8_t* block) {
  Step step{.d = half_at(block)};
  for (std::size_t i = 0; i < step.code.size(); ++i) {
    step.code[i] = static_cast<std::uint8_t>(block[2 + i] ^ 0x80U);
  }
  return step;
}

Step q4_0_step(const std::uint8_t* block) {
  Step step{.d = half_at(block)};
  for (std::size_t i = 0; i < step.code.size() / 2; ++i) {
    step.code[i] = block[2 + i] & 0xfU;
    step.code[i + step.code.size() / 2] = static_cast<std::uint8_t>(block[2 + i] >> 4);
  }
  return step;
}

/// Sub-block `sub` of a q4_k block. The first four scales and minima are the low 6 bits of bytes
/// 0-3 and 4-7; the others have their low 4 bits in bytes 8-11 and the high 2 above the first ones.
Step q4_k_step(const std::uint8_t* block, int sub) {
  constexpr int kScales = 4;
  constexpr int kCodes = 16;
  Step step{.d = half_at(block), .dmin = half_at(block + 2)};
  const std::uint8_t* s = block + kScales;
  if (sub < 4) {
    step.scale[0] = s[sub] & 63U;
    step.minimum = s[sub + 4] & 63U;
  } else {
    step.scale[0] = static_cast<std::uint8_t>((s[sub + 4] & 0xfU) | (s[sub - 4] >> 6 << 4));
    step.minimum = static_cast<std::uint8_t>((s[sub + 4] >> 4) | (s[sub] >> 6 << 4));
  }
  const std::uint8_t* codes = block + kCodes + sub / 2 * kQuantizedStep;
  for (std::size_t i = 0; i < step.code.size(); ++i) {
    step.code[i] = static_cast<std::uint8_t>((codes[i] >> (sub % 2 * 4)) & 0xfU);
  }
  return step;
}

/// Values 32 sub to 32 sub + 31 of a q6_k block. Each half of the block, 128 values, has 64 bytes
/// of low nibbles and 32 of high pairs: sub-block 0 to 3 of it takes the low nibbles of the first
/// 32 bytes, of the second, the high nibbles of the first, of the second, and bit pair 0 to 3.
Step q6_k_step(const std::uint8_t* block, int sub) {
  constexpr int kHigh = 128;
  constexpr int kScales = 192;
  constexpr int kD = 208;
  const int half = sub / 4;
  const int part = sub % 4;
  const std::uint8_t* low = block + half * 64 + part % 2 * 32;
  const std::uint8_t* high = block + kHigh + half * 32;
  Step step{.d = half_at(block + kD)};
  for (std::size_t i = 0; i < step.code.size(); ++i) {
    const unsigned nibble = (low[i] >> (part / 2 * 4)) & 0xfU;
    step.code[i] = static_cast<std::uint8_t>(nibble | (((high[i] >> (part * 2)) & 3U) << 4));
  }
  step.scale = {block[kScales + 2 * sub], block[kScales + 2 * sub + 1]};
  return step;
}

Step int4_step(const std::uint8_t* bytes) {
  Step step;
  for (std::size_t i = 0; i < step.code.size(); ++i) {
    step.code[i] = static_cast<std::uint8_t>((bytes[i / 2] >> (i % 2 * 4)) & 0xfU);
  }
  return step;
}

Step plain_step(const std::uint8_t* bytes, unsigned flipped) {
  Step step;
  for (std::size_t i = 0; i < step.code.size(); ++i) {
    step.code[i] = static_cast<std::uint8_t>(bytes[i] ^ flipped);
  }
  return step;
}

/// Step `index` of a stored row.
Step step_of(QuantizedFormat format, const std::uint8_t* row, std::int64_t index) {
  constexpr int kQ8Bytes = 34;
  constexpr int kQ4Bytes = 18;
  constexpr int kQ4KBytes = 144;
  constexpr int kQ6KBytes = 210;
  const int sub = static_cast<int>(index % kSuperSteps);
  switch (format) {
    case QuantizedFormat::q8_0:
      return q8_0_step(row + index * kQ8Bytes);
    case QuantizedFormat::q4_0:
      return q4_0_step(row + index * kQ4Bytes);
    case QuantizedFormat::q4_k:
      return q4_k_step(row + index / kSuperSteps * kQ4KBytes, sub);
    case QuantizedFormat::q6_k:
      return q6_k_step(row + index / kSuperSteps * kQ6KBytes, sub);
    case QuantizedFormat::int4:
      return int4_step(row + index * (kQuantizedStep / 2));
    case QuantizedFormat::int8:
      return plain_step(row + index * kQuantizedStep, 0x80U);
    case QuantizedFormat::fp8:
      return plain_step(row + index * kQuantizedStep, 0);
  }
  return {};
}

/// Values of code `i` of a step, of GGUF's formats.
float value_of(QuantizedFormat format, const Step& step, std::size_t i) {
  const float d = to_float(step.d);
  const int code = step.code[i];
  switch (format) {
    case QuantizedFormat::q8_0:
      return d * static_cast<float>(code - 128);
    case QuantizedFormat::q4_0:
      return d * static_cast<float>(code - 8);
    case QuantizedFormat::q4_k:
      return d * step.scale[0] * static_cast<float>(code) - to_float(step.dmin) * step.minimum;
    default: {  // q6_k
      const auto scale = static_cast<std::int8_t>(step.scale[i / (kQuantizedStep / 2)]);
      return d * scale * static_cast<float>(code - 32);
    }
  }
}

/// A code of q6_k; `to` is its place in group 0 of the step.
void put_six_bits(unsigned code, int group, std::uint8_t* to) {
  constexpr int kWhole = 3;  // groups in the low six bits, whose top bits hold the fourth
  std::uint8_t* half = to + group / 4 * kWhole * 64;
  const auto put = [half](int i, unsigned bits) {
    half[i * 64] = static_cast<std::uint8_t>(half[i * 64] | bits);
  };
  if (group % 4 < kWhole) return put(group % 4, code);
  for (int i = 0; i < kWhole; ++i) put(i, (code >> (2 * i) & 3U) << 6);
}

void put_codes(const PackedWeight& weight, const Step& step, int row, std::uint8_t* to) {
  for (int k = 0; k < kQuantizedStep; ++k) {
    const unsigned code = step.code[static_cast<std::size_t>(k)];
    const int group = k / 4;
    const int place = row * 4 + k % 4;  // within a group of four
    switch (weight.format) {
      case QuantizedFormat::fp8:
        to[k * kStripRows + row] = static_cast<std::uint8_t>(code);
        break;
      case QuantizedFormat::q8_0:
      case QuantizedFormat::int8:
        to[group * 64 + place] = static_cast<std::uint8_t>(code);
        break;
      case QuantizedFormat::q6_k:
        put_six_bits(code, group, to + place);
        break;
      default: {
        std::uint8_t& low = to[group % 4 * 64 + place];
        low = static_cast<std::uint8_t>(low | (code << (group / 4 * 4)));
      }
    }
  }
}

template <class T>
void put(std::uint8_t* to, int row, T value) {
  std::memcpy(to + static_cast<std::size_t>(row) * sizeof(T), &value, sizeof value);
}

/// Bytes of the scales of a super block.
constexpr std::size_t kQ4KScales = 2 * kHalves + 2 * kSuperBlock / 2;
constexpr std::size_t kQ6KScales = kHalves + 2 * kSuperBlock / 2;

/// Step `index` of row `row`; `scale` is the number in the array of its own, if there is one.
void put_scales(const PackedWeight& weight, const Step& step, int row, std::int64_t index,
                std::uint8_t* scales) {
  const auto at = static_cast<std::size_t>(index);
  const std::size_t sub = at % kSuperSteps;
  switch (weight.format) {
    case QuantizedFormat::q8_0:
    case QuantizedFormat::q4_0:
      return put(scales + at * kHalves, row, step.d);
    case QuantizedFormat::q4_k: {
      std::uint8_t* block = scales + at / kSuperSteps * kQ4KScales;
      put(block, row, step.d);
      put(block + kHalves, row, step.dmin);
      put(block + 2 * kHalves + sub * 2 * kStripRows, row, step.scale[0]);
      put(block + 2 * kHalves + (sub * 2 + 1) * kStripRows, row, step.minimum);
      return;
    }
    case QuantizedFormat::q6_k: {
      std::uint8_t* block = scales + at / kSuperSteps * kQ6KScales;
      put(block, row, step.d);
      put(block + kHalves + sub * 2 * kStripRows, row, step.scale[0]);
      put(block + kHalves + (sub * 2 + 1) * kStripRows, row, step.scale[1]);
      return;
    }
    default:
      return;
  }
}

/// The scales of one row that are stored in an array of their own.
void put_array_scales(const PackedWeight& weight, const void* scales, std::int64_t n, int row,
                      std::uint8_t* to) {
  if (weight.format == QuantizedFormat::int4) {
    const int groups = weight.k / kInt4Group;
    for (int g = 0; g < groups; ++g) {
      put(to + static_cast<std::size_t>(g) * kHalves, row,
          static_cast<const Fp16*>(scales)[n * groups + g]);
    }
  } else {
    put(to, row, static_cast<const float*>(scales)[n]);
  }
}

bool has_array_scales(QuantizedFormat format) {
  return format == QuantizedFormat::int8 || format == QuantizedFormat::int4 ||
         format == QuantizedFormat::fp8;
}

std::size_t scale_bytes(const PackedWeight& weight) {
  const auto steps = static_cast<std::size_t>(weight.steps());
  switch (weight.format) {
    case QuantizedFormat::q8_0:
    case QuantizedFormat::q4_0:
      return steps * kHalves;
    case QuantizedFormat::q4_k:
      return steps / kSuperSteps * kQ4KScales;
    case QuantizedFormat::q6_k:
      return steps / kSuperSteps * kQ6KScales;
    case QuantizedFormat::int4:
      return steps * kQuantizedStep / kInt4Group * kHalves;
    case QuantizedFormat::int8:
    case QuantizedFormat::fp8:
      break;
  }
  return kFloats;
}

/// Scales of a strip of random codes: uniform over 0 to 2 c, whose standard deviation is about
/// 2 c / sqrt(12), around zero.
void put_random_scales(const PackedWeight& weight, float deviation, std::uint8_t* to) {
  const float eight = deviation * std::sqrt(12.0F) / 256;
  const float four = deviation * std::sqrt(12.0F) / 16;
  const float six = deviation * std::sqrt(12.0F) / 64;
  constexpr std::uint8_t kScale = 32;
  for (int row = 0; row < kStripRows; ++row) {
    Step step;
    switch (weight.format) {
      case QuantizedFormat::q8_0:
        step.d = from_float<Fp16>(eight);
        break;
      case QuantizedFormat::q4_0:
        step.d = from_float<Fp16>(four);
        break;
      case QuantizedFormat::q4_k:
        step.d = from_float<Fp16>(four / kScale);
        step.dmin = from_float<Fp16>(four / kScale * 7.5F);
        step.scale[0] = step.minimum = kScale;
        break;
      case QuantizedFormat::q6_k:
        step.d = from_float<Fp16>(six / kScale);
        step.scale = {kScale, kScale};
        break;
      case QuantizedFormat::int4:
        for (int g = 0; g < weight.k / kInt4Group; ++g) {
          put(to + static_cast<std::size_t>(g) * kHalves, row, from_float<Fp16>(four));
        }
        continue;
      case QuantizedFormat::int8:
        put(to, row, eight);
        continue;
      case QuantizedFormat::fp8:
        // Codes below 2 (pack_random): any of eight mantissas m / 8 and eight exponents. Seven are
        // 2^-6 to 1, whose squares add up to (1 - 4^-7) * 4 / 3 = 1.3333; the mean square of 1 +
        // m / 8 is (8^2 + ... + 15^2) / 512 = 2.148. The eighth is subnormal, 2^-6 m / 8: 7e-5.
        // (2.148 * 1.3333 + 7e-5) / 8 = 0.3581, whose root is 0.5984.
        put(to, row, deviation / 0.5984F);
        continue;
    }
    for (std::int64_t s = 0; s < weight.steps(); ++s) put_scales(weight, step, row, s, to);
  }
}

}  // namespace

std::string_view name_of(QuantizedFormat format) {
  switch (format) {
    case QuantizedFormat::q8_0:
      return "q8_0";
    case QuantizedFormat::q4_0:
      return "q4_0";
    case QuantizedFormat::q4_k:
      return "q4_k";
    case QuantizedFormat::q6_k:
      return "q6_k";
    case QuantizedFormat::int8:
      return "int8";
    case QuantizedFormat::int4:
      return "int4";
    case QuantizedFormat::fp8:
      return "fp8";
  }
  return "";
}

std::optional<QuantizedFormat> quantized_format_named(std::string_view name) {
  for (const QuantizedFormat format : kQuantizedFormats) {
    if (name_of(format) == name) return format;
  }
  return std::nullopt;
}

int block_of(QuantizedFormat format) {
  if (format == QuantizedFormat::q4_k || format == QuantizedFormat::q6_k) return kSuperBlock;
  return format == QuantizedFormat::int4 ? kInt4Group : kQuantizedStep;
}

std::size_t stored_bytes(QuantizedFormat format, std::int64_t n, std::int64_t k) {
  const auto rows = static_cast<std::size_t>(n);
  const auto values = static_cast<std::size_t>(k);
  switch (format) {
    case QuantizedFormat::q8_0:
      return rows * (values / kQuantizedStep * 34);
    case QuantizedFormat::q4_0:
      return rows * (values / kQuantizedStep * 18);
    case QuantizedFormat::q4_k:
      return rows * (values / kSuperBlock * 144);
    case QuantizedFormat::q6_k:
      return rows * (values / kSuperBlock * 210);
    case QuantizedFormat::int4:
      return rows * (values / 2);
    case QuantizedFormat::int8:
    case QuantizedFormat::fp8:
      break;
  }
  return rows * values;
}

std::size_t PackedWeight::step_bytes() const {
  constexpr std::size_t kCodes = std::size_t{kStripRows} * kQuantizedStep;
  switch (format) {
    case QuantizedFormat::q8_0:
    case QuantizedFormat::int8:
    case QuantizedFormat::fp8:
      return kCodes;
    case QuantizedFormat::q6_k:
      return kCodes * 6 / 8;
    default:
      return kCodes / 2;
  }
}

std::size_t PackedWeight::code_bytes() const {
  return static_cast<std::size_t>(steps()) * step_bytes();
}

std::size_t PackedWeight::strip_bytes() const {
  return code_bytes() + aligned_up(scale_bytes(*this));
}

void pack(const PackedWeight& weight, const void* stored, const void* scales, std::int64_t first,
          std::int64_t last, void* packed) {
  const std::size_t row_bytes = stored_bytes(weight.format, 1, weight.k);
  for (std::int64_t strip = first; strip < last; ++strip) {
    auto* to =
        static_cast<std::uint8_t*>(packed) + static_cast<std::size_t>(strip) * weight.strip_bytes();
    std::memset(to, 0, weight.strip_bytes());
    for (int row = 0; row < kStripRows; ++row) {
      const std::int64_t n = strip * kStripRows + row;
      if (n >= weight.n) break;
      const auto* from =
          static_cast<const std::uint8_t*>(stored) + static_cast<std::size_t>(n) * row_bytes;
      for (std::int64_t s = 0; s < weight.steps(); ++s) {
        const Step step = step_of(weight.format, from, s);
        put_codes(weight, step, row, to + static_cast<std::size_t>(s) * weight.step_bytes());
        put_scales(weight, step, row, s, to + weight.code_bytes());
      }
      if (has_array_scales(weight.format)) {
        put_array_scales(weight, scales, n, row, to + weight.code_bytes());
      }
    }
  }
}

void pack_random(const PackedWeight& weight, std::uint64_t seed, float deviation,
                 std::int64_t first, std::int64_t last, void* packed) {
  const std::size_t words = weight.code_bytes() / sizeof(std::uint64_t);
  // E4M3 below 2: without NaN, and without numbers so large that a few would make the sum.
  const std::uint64_t kept =
      weight.format == QuantizedFormat::fp8 ? 0xbfbfbfbfbfbfbfbfU : ~std::uint64_t{0};
  for (std::int64_t strip = first; strip < last; ++strip) {
    auto* to =
        static_cast<std::uint8_t*>(packed) + static_cast<std::size_t>(strip) * weight.strip_bytes();
    for (std::size_t i = 0; i < words; ++i) {
      const auto at = static_cast<std::uint64_t>(strip) * words + i;
      const std::uint64_t bits =
          normal_detail::mix(seed * 0x9e3779b97f4a7c15U + at * 0xd1342543de82ef95U) & kept;
      std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
    std::memset(to + weight.code_bytes(), 0, weight.strip_bytes() - weight.code_bytes());
    put_random_scales(weight, deviation, to + weight.code_bytes());
  }
}

void dequantize_row(QuantizedFormat format, const void* stored, int k, float* values) {
  for (int s = 0; s < k / kQuantizedStep; ++s) {
    const Step step = step_of(format, static_cast<const std::uint8_t*>(stored), s);
    for (std::size_t i = 0; i < step.code.size(); ++i) *values++ = value_of(format, step, i);
  }
}

std::size_t workspace_bytes(const QuantizedGemm& gemm) {
  const auto rows = static_cast<std::size_t>(gemm.m);
  const auto k = static_cast<std::size_t>(gemm.shape.k);
  if (gemm.shape.format == QuantizedFormat::fp8) return rows * aligned_up(k * sizeof(float));
  // Codes; of each step a scale, a weighted sum and the sums of both halves.
  return rows * (aligned_up(k) + 4 * aligned_up(k / kQuantizedStep * sizeof(float)));
}

double flops(const QuantizedGemm& gemm) {
  return 2.0 * static_cast<double>(gemm.m) * gemm.shape.n * gemm.shape.k;
}

double bytes_moved(const QuantizedGemm& gemm) {
  const double activations =
      static_cast<double>(gemm.m) * (static_cast<double>(gemm.shape.n) + gemm.shape.k);
  return static_cast<double>(gemm.shape.bytes()) +
         static_cast<double>(size_of(gemm.element)) * activations;
}

void check(const QuantizedGemm& gemm) {
  constexpr auto kFamily = "quantised GEMM";
  require(is_plain(gemm.element), kFamily, "the element must be fp32, fp16 or bf16");
  require(gemm.m >= 0 && gemm.m <= kMaxRows, kFamily, "m must be 0 to 2^31 - 1");
  require(gemm.shape.n > 0 && gemm.shape.k > 0, kFamily, "n and k must be positive");
  require(gemm.shape.k % block_of(gemm.shape.format) == 0, kFamily,
          "k must be whole blocks of the format");
  require(all_given(gemm.input, gemm.weight, gemm.output, gemm.workspace), kFamily,
          "input, weight, output and workspace must be given");
  require(gemm.output_stride == 0 || gemm.output_stride >= gemm.shape.n, kFamily,
          "rows of the output must not overlap");
  require(gemm.output != gemm.input, kFamily, "the output must not be the input");
  require(aligned(gemm.input) && reinterpret_cast<std::uintptr_t>(gemm.weight) % kLine == 0 &&
              reinterpret_cast<std::uintptr_t>(gemm.workspace) % kLine == 0,
          kFamily, "weight and workspace must be aligned to 64 bytes, the input to 16");
}

}  // namespace roofcast::kernels
