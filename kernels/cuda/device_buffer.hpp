// Owns device memory. Movable, not copyable; freed with its owner.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) ROOFCAST_CUDA_CHECK(cudaMalloc(&data_, bytes));
  }

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // A failure here comes from an earlier asynchronous error, which the next checked call reports.
  ~DeviceBuffer() { cudaFree(data_); }

  void* data() { return data_; }
  const void* data() const { return data_; }
  std::size_t size() const { return bytes_; }

  /// Waits for the copy. `bytes` must not exceed size().
  void copy_from_host(const void* source, std::size_t bytes) {
    ROOFCAST_CUDA_CHECK(cudaMemcpy(data_, source, bytes, cudaMemcpyHostToDevice));
    // From pageable memory, that call returns once the data have left it (CUDA runtime API, "API
    // synchronization behavior").
    ROOFCAST_CUDA_CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  }
  void copy_to_host(void* destination, std::size_t bytes) const {
    ROOFCAST_CUDA_CHECK(cudaMemcpy(destination, data_, bytes, cudaMemcpyDeviceToHost));
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace roofcast::kernels::cuda
