// The kernels in their plainest form: double precision, one loop per sum, rounding only where the
// contract rounds. Every backend is compared with them before it is timed. This file has RMSNorm
// and shared helpers. reference_gemm.hpp, reference_attention.hpp and reference_tokens.hpp take a
// contract whose pointers are on the host and do not check() it, so they also accept shapes that no
// kernel supports.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/element.hpp"

namespace roofcast::kernels {

/// Rounds to the element type, as storing does.
double round_to(Element element, double value);

/// Element i of an array in storage format.
double value_at(Element element, const void* data, std::int64_t i);

/// The elements [first, first + count) of an array in storage format.
std::vector<double> values_of(Element element, const void* data, std::int64_t first,
                              std::int64_t count);

/// Unrounded sums of products, and the sums of the absolute products, to which the floating-point
/// summation error is relative (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
/// 4.2).
struct Sums {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

struct RmsNormReference {
  Element element = Element::bf16;  // only the residual sum is rounded to it
  std::int64_t rows = 0;
  int hidden = 0;
  double epsilon = 1e-5;
  std::vector<double> input;     // [rows, hidden]
  std::vector<double> residual;  // [rows, hidden], or empty
  std::vector<double> weight;    // [hidden]
};

struct RmsNormResult {
  std::vector<double> residual_out;  // [rows, hidden]; empty without a residual
  std::vector<double> output;        // [rows, hidden], not rounded
};

/// The contract of kernels/rms_norm.hpp.
RmsNormResult rms_norm_reference(const RmsNormReference& norm);

}  // namespace roofcast::kernels
