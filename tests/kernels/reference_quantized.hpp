// The contract of kernels/quantized_gemm.hpp in double precision, from the weight as it is stored.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/quantized_gemm.hpp"
#include "tests/kernels/reference.hpp"

namespace roofcast::kernels {

/// Values of a stored weight, and their magnitudes: of a value that is a difference (q4_k's), the
/// sum of its two parts.
struct StoredValues {
  std::vector<double> values;      // [n, k]
  std::vector<double> magnitudes;  // [n, k]
};

StoredValues stored_values(QuantizedFormat format, int n, int k, const std::uint8_t* stored,
                           const void* scales);

/// [m, n]; the input is not quantised.
Sums quantized_gemm_reference(const std::vector<double>& input, const StoredValues& weight,
                              std::int64_t m, int n, int k);

}  // namespace roofcast::kernels
