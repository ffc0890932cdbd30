#include "tests/kernels/reference_gemm.hpp"

#include <cmath>
#include <cstddef>

namespace roofcast::kernels {
namespace {

/// Appends sum_k a[k] * b[k].
void append_product(Sums& sums, const double* a, const double* b, int k) {
  double value = 0;
  double magnitude = 0;
  for (int i = 0; i < k; ++i) {
    value += a[i] * b[i];
    magnitude += std::abs(a[i] * b[i]);
  }
  sums.values.push_back(value);
  sums.magnitudes.push_back(magnitude);
}

/// Appends input[m, k] times the transpose of weight[n, k], row by row.
void append_products(Sums& sums, const std::vector<double>& input,
                     const std::vector<double>& weight, int k) {
  for (std::size_t a = 0; a < input.size(); a += static_cast<std::size_t>(k)) {
    for (std::size_t b = 0; b < weight.size(); b += static_cast<std::size_t>(k)) {
      append_product(sums, input.data() + a, weight.data() + b, k);
    }
  }
}

/// The factor of input[m, k].
double input_factor(const Gemm& gemm, std::int64_t m, int k) {
  if (gemm.scale == GemmScale::none) return 1;
  if (gemm.scale == GemmScale::tensor) return gemm.input_scale[0];
  return gemm.input_scale[k / kScaleBlock * gemm.m + m];  // m fastest
}

/// The factor of weight[n, k].
double weight_factor(const Gemm& gemm, int n, int k) {
  if (gemm.scale == GemmScale::none) return 1;
  if (gemm.scale == GemmScale::tensor) return gemm.weight_scale[0];
  return gemm.weight_scale[n / kScaleBlock * (gemm.k / kScaleBlock) + k / kScaleBlock];
}

double int4_weight(const Int4Gemm& gemm, int n, int k) {
  const std::int64_t i = std::int64_t{n} * gemm.k + k;
  const int byte = gemm.weight[i / 2];
  const int nibble = k % 2 == 0 ? byte & 0xf : byte >> 4;
  return (nibble - 8) * value_at(gemm.element, gemm.scale, i / gemm.group);
}

}  // namespace

Sums gemm_reference(const Gemm& gemm) {
  std::vector<double> input = values_of(gemm.element, gemm.input, 0, gemm.m * gemm.k);
  std::vector<double> weight =
      values_of(gemm.element, gemm.weight, 0, std::int64_t{gemm.n} * gemm.k);
  std::size_t i = 0;
  for (std::int64_t m = 0; m < gemm.m; ++m) {
    for (int k = 0; k < gemm.k; ++k) input[i++] *= input_factor(gemm, m, k);
  }
  i = 0;
  for (int n = 0; n < gemm.n; ++n) {
    for (int k = 0; k < gemm.k; ++k) weight[i++] *= weight_factor(gemm, n, k);
  }
  Sums sums;
  append_products(sums, input, weight, gemm.k);
  return sums;
}

Sums grouped_gemm_reference(const GroupedGemm& gemm) {
  const std::int64_t matrix = std::int64_t{gemm.n} * gemm.k;
  Sums sums;
  for (int e = 0; e < gemm.experts; ++e) {
    const std::int64_t first = gemm.first_row[e];
    const std::int64_t rows = gemm.first_row[e + 1] - first;
    append_products(sums, values_of(gemm.element, gemm.input, first * gemm.k, rows * gemm.k),
                    values_of(gemm.element, gemm.weight, e * matrix, matrix), gemm.k);
  }
  return sums;
}

Sums int4_gemm_reference(const Int4Gemm& gemm) {
  std::vector<double> weight;
  for (int n = 0; n < gemm.n; ++n) {
    for (int k = 0; k < gemm.k; ++k) weight.push_back(int4_weight(gemm, n, k));
  }
  Sums sums;
  append_products(sums, values_of(gemm.element, gemm.input, 0, gemm.m * gemm.k), weight, gemm.k);
  return sums;
}

}  // namespace roofcast::kernels
