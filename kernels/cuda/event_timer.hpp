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

  /// Queues start, work() and stop on the stream, waits, and returns the time between. If the
  /// stream is idle, this includes the host's time to queue the work: queue something before it.
  template <class Work>
  float milliseconds(cudaStream_t stream, const Work& work) {
    start(stream);
    work();
    stop(stream);
    ROOFCAST_CUDA_CHECK(cudaEventSynchronize(stop_));
    return milliseconds_between();
  }

  // The same in separate steps; the stream's device must be current.

  void start(cudaStream_t stream) { ROOFCAST_CUDA_CHECK(cudaEventRecord(start_, stream)); }
  void stop(cudaStream_t stream) { ROOFCAST_CUDA_CHECK(cudaEventRecord(stop_, stream)); }

  /// Whether the stream has reached the start.
  bool started() const {
    const cudaError_t code = cudaEventQuery(start_);
    if (code == cudaErrorNotReady) {
      cudaGetLastError();  // an expected result; clear it for later checks
      return false;
    }
    ROOFCAST_CUDA_CHECK(code);
    return true;
  }

  /// Precondition: the stream has passed both events.
  float milliseconds_between() const {
    float milliseconds = 0;
    ROOFCAST_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace roofcast::kernels::cuda
