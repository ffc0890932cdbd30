// Matrix products whose weight keeps the quantised format of its file: blocks of small integers
// with scales, as GGUF stores them, int8 by output channel, int4 by group and fp8 by output
// channel.
//   output[m, n] = sum_k input[m, k] * value(weight[n, k])
// The input is quantised to int8 in blocks of 32 along k, scale max|x| / 127 (llama.cpp's q8_0,
// with the scale kept in fp32; blocks below 1e-30 count as zeros), and multiplied as integers; fp8
// weights are widened and multiplied in fp32. Inputs must be finite. Weights are repacked once, so
// that 16 outputs lie side by side: PackedWeight says how. Only the CPU has these products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/element.hpp"

namespace roofcast::kernels {

/// Formats of a stored weight [n, k]. The GGUF formats' blocks run along k and a row is whole
/// blocks (ggml-common.h in github.com/ggml-org/llama.cpp has the structs):
///   q8_0  32 values: fp16 d, 32 int8;  d * q
///   q4_0  32 values: fp16 d, 16 bytes, value j in the low nibble of byte j, value j + 16 in the
///         high one;  d * (q - 8)
///   q4_k  256 values: fp16 d, fp16 dmin, 12 bytes of 6-bit scales and minima of 8 sub-blocks, 128
///         bytes of nibbles, 32 of which hold two sub-blocks;  d * scale * q - dmin * min
///   q6_k  256 values: 128 bytes of low nibbles, 64 of high bit pairs, 16 int8 scales, fp16 d;
///         d * scale * (q - 32)
/// and ours, with the scales in an array of their own:
///   int8  [n, k] int8, one fp32 scale per output
///   int4  [n, k / 2], the even k in the low nibble, minus 8; an fp16 scale per 128 values
///         [n, k / 128] (AWQ, arXiv 2306.00978; symmetric)
///   fp8   [n, k] E4M3 without NaN, one fp32 scale per output
enum class QuantizedFormat { q8_0, q4_0, q4_k, q6_k, int8, int4, fp8 };

inline constexpr QuantizedFormat kQuantizedFormats[] = {
    QuantizedFormat::q8_0, QuantizedFormat::q4_0, QuantizedFormat::q4_k, QuantizedFormat::q6_k,
    QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::fp8};

/// "q8_0", "q4_k", "int8", ...
std::string_view name_of(QuantizedFormat format);
/// nullopt for other names.
std::optional<QuantizedFormat> quantized_format_named(std::string_view name);

/// k must be a multiple of this.
int block_of(QuantizedFormat format);

/// Bytes of [n, k] values as stored, without scales that are an array of their own.
std::size_t stored_bytes(QuantizedFormat format, std::int64_t n, std::int64_t k);

/// Outputs that lie side by side in a packed weight.
inline constexpr int kStripRows = 16;
/// Values of k that are processed together, and of the input that share a scale.
inline constexpr int kQuantizedStep = 32;

/// A weight as the kernels read it: strips of 16 outputs, n padded with zeros; in a strip the codes
/// of all steps of 32 k, then its scales, each aligned to 64 bytes. A step's codes, unsigned:
///   8 bits  [8][16][4]: 4 neighbours in k of 16 outputs, 8 times (int8 plus 128)
///   4 bits  [4][16][4]: the low nibbles are k 0 to 15, the high ones 16 to 31
///   6 bits  [2][3][16][4]: for each half of the step, its first three groups of four k in the low
///           six bits and its fourth in the top two bits of all three, lowest bits first
///   fp8     [32][16]
/// Scales: q8_0, q4_0 fp16 [16] a step; int4 fp16 [16] every four steps; q4_k every eight steps
/// fp16 d [16] and dmin [16], then scales and minima as bytes [8][2][16]; q6_k every eight steps
/// fp16 d [16] and int8 [8][2][16]; int8 and fp8 fp32 [16]. As large as what is stored, q4_k 3 %
/// larger.
struct PackedWeight {
  QuantizedFormat format = QuantizedFormat::q8_0;
  int n = 0;
  int k = 0;

  std::int64_t strips() const { return (std::int64_t{n} + kStripRows - 1) / kStripRows; }
  std::int64_t steps() const { return k / kQuantizedStep; }
  std::size_t step_bytes() const;   // codes of a step
  std::size_t code_bytes() const;   // of a strip, where its scales begin
  std::size_t strip_bytes() const;  // of a strip
  std::size_t bytes() const { return static_cast<std::size_t>(strips()) * strip_bytes(); }
};

/// Repacks strips [first, last). `stored` is the whole weight, `scales` the array that belongs to
/// int8, int4 and fp8 (null for the others).
void pack(const PackedWeight& weight, const void* stored, const void* scales, std::int64_t first,
          std::int64_t last, void* packed);

/// Random codes in strips [first, last) with scales that give values of about this standard
/// deviation.
void pack_random(const PackedWeight& weight, std::uint64_t seed, float deviation,
                 std::int64_t first, std::int64_t last, void* packed);

/// The values of one stored row of k, for tables that are looked up instead of multiplied. GGUF's
/// formats only.
void dequantize_row(QuantizedFormat format, const void* stored, int k, float* values);

struct QuantizedGemm {
  PackedWeight shape{};
  Element element = Element::fp32;  // of input and output; plain
  std::int64_t m = 0;
  const void* input = nullptr;     // [m, k]
  const void* weight = nullptr;    // packed, aligned to 64 bytes
  void* output = nullptr;          // [m, n], rows output_stride apart; not the input
  std::int64_t output_stride = 0;  // elements; 0: n
  void* workspace = nullptr;       // workspace_bytes(), aligned to 64 bytes
};

/// For the quantised input.
std::size_t workspace_bytes(const QuantizedGemm& gemm);

/// 2 m n k.
double flops(const QuantizedGemm& gemm);

/// The packed weight, input and output once each.
double bytes_moved(const QuantizedGemm& gemm);

void check(const QuantizedGemm& gemm);

}  // namespace roofcast::kernels
