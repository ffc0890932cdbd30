#include "tests/kernels/reference_quantized.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>

namespace roofcast::kernels {
namespace {

double half_at(const std::uint8_t* from) { return value_at(Element::fp16, from, 0); }

/// One value of a stored row: the formulas of kernels/quantized_gemm.hpp, element by element.
struct Value {
  double positive = 0;
  double negative = 0;
};

Value q4_k_value(const std::uint8_t* block, int i) {
  const int sub = i / 32;
  const std::uint8_t* s = block + 4;
  const int scale = sub < 4 ? s[sub] % 64 : s[sub + 4] % 16 + 16 * (s[sub - 4] / 64);
  const int minimum = sub < 4 ? s[sub + 4] % 64 : s[sub + 4] / 16 + 16 * (s[sub] / 64);
  const int byte = block[16 + i / 64 * 32 + i % 32];
  const int q = i % 64 < 32 ? byte % 16 : byte / 16;
  return {half_at(block) * scale * q, half_at(block + 2) * minimum};
}

Value q6_k_value(const std::uint8_t* block, int i) {
  const int half = i / 128;
  const int in_half = i % 128;
  const int low_byte = block[half * 64 + in_half % 64];
  const int low = in_half < 64 ? low_byte % 16 : low_byte / 16;
  const int high = (block[128 + half * 32 + in_half % 32] >> (2 * (in_half / 32))) % 4;
  const auto scale = static_cast<std::int8_t>(block[192 + i / 16]);
  return {half_at(block + 208) * scale * (low + 16 * high - 32), 0};
}

Value value_of(QuantizedFormat format, const std::uint8_t* row, const void* scales, int n, int k,
               int i) {
  switch (format) {
    case QuantizedFormat::q8_0: {
      const std::uint8_t* block = row + i / 32 * 34;
      return {half_at(block) * static_cast<std::int8_t>(block[2 + i % 32]), 0};
    }
    case QuantizedFormat::q4_0: {
      const std::uint8_t* block = row + i / 32 * 18;
      const int byte = block[2 + i % 16];
      return {half_at(block) * ((i % 32 < 16 ? byte % 16 : byte / 16) - 8), 0};
    }
    case QuantizedFormat::q4_k:
      return q4_k_value(row + i / 256 * 144, i % 256);
    case QuantizedFormat::q6_k:
      return q6_k_value(row + i / 256 * 210, i % 256);
    case QuantizedFormat::int8:
      return {static_cast<const float*>(scales)[n] *
                  static_cast<double>(static_cast<std::int8_t>(row[i])),
              0};
    case QuantizedFormat::int4: {
      const int byte = row[i / 2];
      const double scale = value_at(Element::fp16, scales, std::int64_t{n} * (k / 128) + i / 128);
      return {scale * ((i % 2 == 0 ? byte % 16 : byte / 16) - 8), 0};
    }
    case QuantizedFormat::fp8:
      return {static_cast<const float*>(scales)[n] * value_at(Element::fp8_e4m3, row, i), 0};
  }
  return {};
}

}  // namespace

StoredValues stored_values(QuantizedFormat format, int n, int k, const std::uint8_t* stored,
                           const void* scales) {
  StoredValues result;
  const std::size_t row_bytes = stored_bytes(format, 1, k);
  for (int row = 0; row < n; ++row) {
    for (int i = 0; i < k; ++i) {
      const Value value =
          value_of(format, stored + static_cast<std::size_t>(row) * row_bytes, scales, row, k, i);
      result.values.push_back(value.positive - value.negative);
      result.magnitudes.push_back(std::abs(value.positive) + std::abs(value.negative));
    }
  }
  return result;
}

Sums quantized_gemm_reference(const std::vector<double>& input, const StoredValues& weight,
                              std::int64_t m, int n, int k) {
  Sums sums;
  for (std::int64_t row = 0; row < m; ++row) {
    const double* a = input.data() + row * k;
    for (std::int64_t column = 0; column < n; ++column) {
      double value = 0;
      double magnitude = 0;
      for (int i = 0; i < k; ++i) {
        value += a[i] * weight.values[static_cast<std::size_t>(column * k + i)];
        magnitude += std::abs(a[i]) * weight.magnitudes[static_cast<std::size_t>(column * k + i)];
      }
      sums.values.push_back(value);
      sums.magnitudes.push_back(magnitude);
    }
  }
  return sums;
}

}  // namespace roofcast::kernels
