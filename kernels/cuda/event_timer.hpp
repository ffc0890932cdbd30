// Two events around work on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {

class EventTimer {
 public:
  EventTimer() {
    ROOFCAST_CUDA_CHECK(cudaEventCreate(&start_));
    const cudaError_t code = cudaEventCreate(&stop_);
    if (code != cudaSuccess) cudaEventDestroy(start_);
    ROOFCAST_CUDA_CHECK(code);
  }
  ~EventTimer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  /// Queues start, work() and stop on the stream, waits, and returns the time between. What the
  /// host takes to queue the work counts when the stream is idle: let something run before.
  template <class Work>
  float milliseconds(cudaStream_t stream, const Work& work) {
    ROOFCAST_CUDA_CHECK(cudaEventRecord(start_, stream));
    work();
    ROOFCAST_CUDA_CHECK(cudaEventRecord(stop_, stream));
    ROOFCAST_CUDA_CHECK(cudaEventSynchronize(stop_));
    float milliseconds = 0;
    ROOFCAST_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace roofcast::kernels::cuda
