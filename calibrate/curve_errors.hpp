// How well a profile's curves predict points left out of them. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Leave-one-out errors over all curves of a family and kernel source.
struct FamilyError {
  OperatorFamily family = OperatorFamily::gemm;
  std::string kernel{};
  std::size_t curves = 0;
  std::size_t points = 0;
  std::size_t judged = 0;  // points that have neighbours on both sides; if 0, the errors are 0
  double median_error = 0;
  double p90_error = 0;
};

struct PointError {
  std::string place{};  // "gemm bf16 4096x4096, 17 [cuBLASLt 13.1]"
  double error = 0;
};

struct CurveErrors {
  std::vector<FamilyError> families{};  // by family, then kernel
  std::vector<PointError> worst{};      // largest first
};

/// Precondition: the GPU was measured.
CurveErrors curve_errors(const Gpu& gpu, std::size_t worst);

}  // namespace roofcast
