// One timing case: an operator at one size, by one kernel source. Plain data; bind.hpp launches it,
// case_grid.hpp lists the sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/backend.hpp"
#include "model/curves/operator_shape.hpp"

namespace roofcast {

enum class CaseKind {
  gemm,
  moe,
  prefill_attention,
  decode_attention,
  norm,
  rope,
  activation,
  kv_write,
  embedding,
  sampling,
  routing,
  collective,  // of several devices (collective_timer.hpp)
  copy,
  nothing,  // an empty kernel
};

/// Purpose of a timing.
enum class CaseRole {
  curve,     // a point of its shape's curve
  ceiling,   // device limits: copy, launch
  check,     // same work as a curve's point, unevenly distributed: tests that the axis is suitable
  sentinel,  // repeated throughout, to detect drift
};

/// Sizes of a memory-bound operator; those that a kind does not use are 0.
struct TokenSizes {
  kernels::Element element = kernels::Element::bf16;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;  // norm, embedding; for an activation the width of its output
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  kernels::Element cache = kernels::Element::bf16;
  std::int64_t vocabulary = 0;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  bool gated = true;     // activation
  bool residual = true;  // norm
};

struct CalibrationCase {
  CaseKind kind = CaseKind::gemm;
  CaseRole role = CaseRole::curve;
  OperatorShape shape{};  // of the curve; empty for ceilings
  double x = 0;           // position on the curve's axes (shape_work)
  double y = 0;
  kernels::Element element = kernels::Element::bf16;  // of activations
  TokenSizes sizes{};                                 // memory-bound kinds
  kernels::KernelSource source = kernels::KernelSource::own;
  std::string kernel{};  // name of the kernel source
  int pass = 0;          // 0: the coarse grid; higher: finer
};

/// Equal names mean equal work: "gemm bf16 N=4096 K=4096 tokens=128 [cuBLASLt 13.1]". Used to look
/// up stored timings.
std::string name_of(const CalibrationCase& c);

/// Without the size: "gemm bf16 N=4096 K=4096".
std::string shape_name(const CalibrationCase& c);

/// The family under which a store lists the case: the operator's, or "copy", "launch".
std::string family_of(const CalibrationCase& c);

/// Whether weights have 4 bits and activations 16.
bool is_int4(const OperatorShape& shape);

/// The format in which a device with products of quantised weights stores a shape's weight; nullopt
/// if it is plain or has no such kernel.
std::optional<kernels::QuantizedFormat> quantized_format(const OperatorShape& shape);

/// The kernel family that computes it on this device: formats that also have other kernels (int8,
/// int4, fp8) are multiplied as stored where that is possible. Precondition: not a collective,
/// which no single device computes.
kernels::KernelFamily kernel_family(const CalibrationCase& c, const kernels::Backend& backend);

}  // namespace roofcast
