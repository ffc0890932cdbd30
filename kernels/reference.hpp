// The kernels in their plainest form: double precision, one loop per sum, no storage format but
// where the contract rounds. What every backend is compared with before it is timed.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/element.hpp"

namespace roofcast::kernels {

/// Rounds to the element type, as storing does.
double round_to(Element element, double value);

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
