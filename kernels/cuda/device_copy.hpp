// Copy from device memory to device memory by a kernel: the bandwidth that memory-bound kernels
// are measured against. Bytes: 2 x bytes (each is read and written). No FLOPs.
#pragma once

#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

struct DeviceCopy {
  const void* source = nullptr;  // [bytes], aligned to 16 bytes
  void* destination = nullptr;   // [bytes], aligned to 16 bytes; must not overlap `source`
  std::int64_t bytes = 0;
  int multiprocessors = 0;  // of the device, to size the grid
};

/// Queues the kernel on `stream`. Throws std::invalid_argument for bad parameters, CudaError if the
/// launch fails.
void launch_device_copy(const DeviceCopy& copy, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
