// Temporarily selects the device that CUDA calls go to.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {

/// Restores the previously current device on destruction.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : DeviceGuard() { ROOFCAST_CUDA_CHECK(cudaSetDevice(device)); }
  DeviceGuard() { ROOFCAST_CUDA_CHECK(cudaGetDevice(&before_)); }
  ~DeviceGuard() { cudaSetDevice(before_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
};

}  // namespace roofcast::kernels::cuda
