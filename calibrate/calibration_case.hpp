// One thing to time: an operator at one size, by one kernel source. Plain data; what launches it is
// bind.hpp, which sizes there are is case_grid.hpp.
#pragma once

#include <cstdint>
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

/// What a timing is for.
enum class CaseRole {
  curve,    // a point of its shape's curve
  ceiling,  // what the device can do at most: copy, launch
  check,  // the same work as a curve's point, unevenly spread: tests that the axis is the right one
  sentinel,  // the same again and again, for the drift
};

/// Sizes of an operator that is bound by memory; those that a kind does not use are 0.
struct TokenSizes {
  kernels::Element element = kernels::Element::bf16;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;  // norm, embedding; activation: the width of its output
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
  OperatorShape shape{};  // of the curve; of ceilings: empty
  double x = 0;           // the curve's axes (shape_work)
  double y = 0;
  kernels::Element element = kernels::Element::bf16;  // of activations
  TokenSizes sizes{};                                 // memory-bound kinds
  kernels::KernelSource source = kernels::KernelSource::own;
  std::string kernel{};  // the source's name
  int pass = 0;          // 0: the coarse grid; then finer and finer
};

/// Equal names, equal work: "gemm bf16 N=4096 K=4096 tokens=128 [cuBLASLt 13.1]". What a stored
/// timing is found again by.
std::string name_of(const CalibrationCase& c);

/// Without the size: "gemm bf16 N=4096 K=4096".
std::string shape_name(const CalibrationCase& c);

/// The family that a store lists the case under: the operator's, or "copy", "launch".
std::string family_of(const CalibrationCase& c);

/// Weights of 4 bits beside 16-bit activations.
bool is_int4(const OperatorShape& shape);

/// The family of kernels that computes it. Precondition: not a collective, which is no one
/// device's.
kernels::KernelFamily kernel_family(const CalibrationCase& c);

}  // namespace roofcast
