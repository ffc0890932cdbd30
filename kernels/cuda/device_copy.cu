// Device copy: destination[i] = source[i] for `bytes` bytes. Bytes moved: 2 x bytes. No FLOPs.
//
// Launch: a grid that fills the device once; each thread strides over it with vectors of 16 bytes,
// four in flight at a time so that enough loads are outstanding to cover the latency of memory.
#include <stdexcept>

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/device_copy.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksPerMultiprocessor = 4;  // 2048 threads: a full SM since sm_80, except 8.6, 8.9
constexpr int kVectorBytes = 16;
constexpr int kInFlight = 4;

__global__ void __launch_bounds__(kThreads)
    device_copy_kernel(const char* __restrict__ source, char* __restrict__ destination,
                       std::int64_t bytes) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t vectors = bytes / kVectorBytes;
  const auto* from = reinterpret_cast<const uint4*>(source);
  auto* to = reinterpret_cast<uint4*>(destination);

  // Whole strides of kInFlight vectors per thread.
  std::int64_t at = thread;
  for (; at + (kInFlight - 1) * threads < vectors; at += kInFlight * threads) {
    uint4 held[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) held[i] = from[at + i * threads];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) to[at + i * threads] = held[i];
  }

  // The remaining vectors, then the bytes after the last vector.
  for (; at < vectors; at += threads) to[at] = from[at];
  const std::int64_t tail = vectors * kVectorBytes + thread;
  if (tail < bytes) destination[tail] = source[tail];
}

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % kVectorBytes == 0;
}

}  // namespace

void launch_device_copy(const DeviceCopy& copy, CUstream_st* stream) {
  const bool pointers = copy.source != nullptr && copy.destination != nullptr &&
                        aligned(copy.source) && aligned(copy.destination);
  if (copy.bytes < 0 || copy.multiprocessors <= 0 || !pointers) {
    throw std::invalid_argument(
        "device copy: needs bytes of 0 or more, the multiprocessor count, and pointers aligned to "
        "16 bytes");
  }
  if (copy.bytes == 0) return;
  const int blocks = copy.multiprocessors * kBlocksPerMultiprocessor;
  device_copy_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const char*>(copy.source), static_cast<char*>(copy.destination), copy.bytes);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace roofcast::kernels::cuda
