// Turns a failed CUDA call into an exception that names the call and its location.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace roofcast::kernels::cuda {

class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, const char* file, int line)
      : std::runtime_error(std::string(call) + " failed with " + cudaGetErrorName(code) + " (" +
                           std::to_string(static_cast<int>(code)) + "): " +
                           cudaGetErrorString(code) + ", at " + file + ":" + std::to_string(line)),
        code_(code) {}

  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

inline void throw_if_failed(cudaError_t code, const char* call, const char* file, int line) {
  if (code != cudaSuccess) throw CudaError(code, call, file, line);
}

}  // namespace roofcast::kernels::cuda

/// Evaluates a CUDA runtime call once; throws CudaError with the call's text if it fails.
#define ROOFCAST_CUDA_CHECK(call) \
  ::roofcast::kernels::cuda::throw_if_failed((call), #call, __FILE__, __LINE__)
