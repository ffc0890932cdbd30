// RMSNorm with residual, the norm before attention and before the MLP:
//   sum = input + residual, rounded to the element type and stored to residual_out;
//   output = sum / sqrt(mean(sum^2) + epsilon) * weight.        (Zhang, Sennrich, NeurIPS 2019)
// Without a residual, sum is the input and only the output is stored. Accumulates in fp32 or
// better. All backends follow this contract; tests/kernels/reference.hpp is its plain form.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

namespace roofcast::kernels {

struct RmsNorm {
  Element element = Element::bf16;  // of all five tensors
  std::int64_t rows = 0;
  int hidden = 0;  // a multiple of 16 bytes, at most kMaxHidden
  float epsilon = 1e-5F;
  const void* input = nullptr;     // [rows, hidden]
  const void* residual = nullptr;  // [rows, hidden], or null
  const void* weight = nullptr;    // [hidden]
  void* residual_out = nullptr;    // [rows, hidden], may be `residual`; null with it
  void* output = nullptr;          // [rows, hidden], may be `input`
};

/// A row must fit in the registers of one CTA (kernels/cuda/rms_norm.cu).
inline constexpr int kMaxHidden = 32768;

/// Bytes that must cross memory: the weight once, each row of input and output, and with a residual
/// both its input and output.
double bytes_moved(const RmsNorm& norm);

/// Per element: the residual's addition, a square and its sum, two multiplications.
double flops(const RmsNorm& norm);

/// Throws std::invalid_argument if shapes or pointers violate the contract above; pointers must be
/// aligned to 16 bytes. Every launcher calls it first.
void check(const RmsNorm& norm);

}  // namespace roofcast::kernels
