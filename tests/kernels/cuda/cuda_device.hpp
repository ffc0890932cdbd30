// Tests that need a GPU are skipped, with the reason, if there is none.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

namespace roofcast::kernels::test {

/// Why no kernel can run here; empty if one can. Errors other than an absent device are not a
/// reason to skip.
inline std::string why_no_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  const bool absent = code == cudaErrorStubLibrary ||         // 34: built against the stub
                      code == cudaErrorInsufficientDriver ||  // 35: no driver, or too old
                      code == cudaErrorNoDevice;              // 100
  if (absent) return cudaGetErrorString(code);
  if (code == cudaSuccess && count == 0) return "no CUDA device";
  return "";
}

}  // namespace roofcast::kernels::test

#define SKIP_WITHOUT_CUDA_DEVICE()                                                        \
  if (const std::string why = ::roofcast::kernels::test::why_no_device(); !why.empty()) { \
    GTEST_SKIP() << "needs a CUDA device: " << why;                                       \
  }                                                                                       \
  static_assert(true)
