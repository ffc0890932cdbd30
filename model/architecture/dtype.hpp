// Number formats: how weights, activations and the KV cache are stored, and which tensor-core rate
// multiplies them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

enum class DType { fp32, tf32, fp16, bf16, fp8, int8, fp4, int4 };

/// "bf16", "fp8", ...: the spelling used in profiles, scenarios and output.
std::string_view name_of(DType dtype);

/// Parses the common spellings: "bfloat16", "torch.bfloat16", "half", "float8_e4m3fn", "fp8_e5m2",
/// "BF16" (safetensors), "F32", "i8" ... Returns nullopt if `text` is not a number format.
std::optional<DType> parse_dtype(std::string_view text);

/// Bits per element without scales: 32, 16, 8 or 4 (tf32 is stored as 32).
int bits_of(DType dtype);

/// How a weight matrix is stored and multiplied. Quantised formats have scales (and zero points)
/// per group, so `bits_per_weight` need not be a whole number.
struct WeightFormat {
  std::string name = "bf16";    // "bf16", "fp8", "fp8_block", "awq", "gptq", "mxfp4", "nvfp4", ...
  double bits_per_weight = 16;  // stored, including scales
  DType compute = DType::bf16;  // tensor-core rate of the multiplication: bf16 for weight-only int4

  bool operator==(const WeightFormat&) const = default;
};

/// An unquantised format: stored and multiplied in `dtype`.
WeightFormat plain_format(DType dtype);

}  // namespace roofcast
