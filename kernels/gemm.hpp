// Matrix products of a transformer: activations times a stored weight matrix.
//   output[m, n] = scale * sum_k input[m, k] * weight[n, k]
// The weight is row-major by output, as checkpoints store it ("TN" in BLAS terms). Accumulates in
// fp32 (int32 for int8). Pointers are aligned to 16 bytes. All backends follow this contract;
// tests/kernels/reference_gemm.hpp is its plain form.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

namespace roofcast::kernels {

/// How narrow operands are scaled back.
enum class GemmScale {
  none,    // fp32, fp16, bf16
  tensor,  // one factor for the input, one for the weight (fp8, int8)
  block,   // fp8: input per 1 x 128 of k, weight per 128 x 128 (DeepSeek-V3, arXiv 2412.19437, 3.3)
};

/// Side of a block of GemmScale::block.
inline constexpr int kScaleBlock = 128;

struct Gemm {
  Element element = Element::bf16;  // of input and weight
  // Element of the output. Plain elements: the same or fp32; fp8 and int8: fp32, fp16 or bf16; int8
  // also int8, rounded and saturated.
  Element result = Element::bf16;
  GemmScale scale = GemmScale::none;
  std::int64_t m = 0;            // tokens
  int n = 0;                     // outputs
  int k = 0;                     // inputs; k and n are multiples of 16 for fp8 and int8
  const void* input = nullptr;   // [m, k]
  const void* weight = nullptr;  // [n, k]
  void* output = nullptr;        // [m, n]; not the input
  // tensor: one float each. block: input [m, k / 128] with m fastest; weight [ceil(n / 128), k /
  // 128], row-major; k is a multiple of 128. none: null.
  const float* input_scale = nullptr;
  const float* weight_scale = nullptr;
};

/// Where the time of a source's products changes its course as rows of input are added.
struct RowForm {
  int tile = 0;      // rows that share one pass over the weight; 0: unknown, and so are the others
  int streamed = 0;  // up to this many rows, the weight is read in the order of memory
  int block = 0;     // more rows are divided into equal blocks of at most this many
};

/// 2 m n k.
double flops(const Gemm& gemm);

/// Weight, input and output once each; scales are neglected.
double bytes_moved(const Gemm& gemm);

/// Throws std::invalid_argument if shapes, elements or pointers violate the contract.
void check(const Gemm& gemm);

/// The experts of a mixture: rows are sorted by expert, and each expert's rows are multiplied by
/// its own matrix.
///   output[r, n] = sum_k input[r, k] * weight[e(r), n, k],  first_row[e] <= r < first_row[e + 1]
/// Rows from first_row[experts] on are neither read nor written.
struct GroupedGemm {
  Element element = Element::bf16;  // of all three; fp32, fp16 or bf16
  int experts = 0;
  std::int64_t rows = 0;  // upper bound of first_row[experts]; the rows of input and output
  int n = 0;              // n and k are multiples of 16 bytes
  int k = 0;
  const void* input = nullptr;              // [rows, k]
  const void* weight = nullptr;             // [experts, n, k]
  void* output = nullptr;                   // [rows, n]; not the input
  const std::int32_t* first_row = nullptr;  // [experts + 1], on the device, ascending from 0
};

/// 2 rows n k.
double flops(const GroupedGemm& gemm);

/// Weights of `experts_used` experts, input and output once each.
double bytes_moved(const GroupedGemm& gemm, int experts_used);

void check(const GroupedGemm& gemm);

/// A weight of 4 bits per value, in groups along k that share a scale (AWQ, arXiv 2306.00978;
/// symmetric here): weight[n, k] = (nibble - 8) * scale[n, k / group]. For few tokens, where
/// reading the weight dominates.
///   output[m, n] = sum_k input[m, k] * weight[n, k]
struct Int4Gemm {
  Element element = Element::bf16;  // of input, scale and output; fp16 or bf16 (fp32 on the CPU)
  std::int64_t m = 0;
  int n = 0;
  int k = 0;                             // a multiple of group
  int group = 128;                       // 32, 64 or 128
  const void* input = nullptr;           // [m, k]
  const std::uint8_t* weight = nullptr;  // [n, k / 2]; even k in the low nibble
  const void* scale = nullptr;           // [n, k / group]
  void* output = nullptr;                // [m, n]; not the input
};

/// 2 m n k; widening the weight is neglected.
double flops(const Int4Gemm& gemm);

/// Weight, its scales, input and output once each.
double bytes_moved(const Int4Gemm& gemm);

void check(const Int4Gemm& gemm);

}  // namespace roofcast::kernels
