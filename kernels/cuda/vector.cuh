// Shared code of the memory-bound kernels: 16-byte vectors, conversion of storage elements, sums
// over a warp and a thread block, and the choice of a kernel by element.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/check.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kMaxThreads = 1024;  // per thread block

template <class T>
inline constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(T));  // elements per vector

/// 16 bytes of a tensor, loaded or stored by one instruction.
template <class T>
struct alignas(kVectorBytes) Vector {
  T lane[kLanes<T>];
};

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(__half value) { return __half2float(value); }
__device__ inline float widen(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__device__ T narrow(float value);
template <>
__device__ inline float narrow<float>(float value) {
  return value;
}
template <>
__device__ inline __half narrow<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ inline std::int8_t narrow<std::int8_t>(float value) {  // saturates
  return static_cast<std::int8_t>(max(-128, min(127, __float2int_rn(value))));
}

/// Sum over the lanes of a warp, with the same bits in each.
template <class T>
__device__ T warp_sum(T value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

/// Sum over all threads of the block, with the same bits in each. blockDim.x must be a multiple of
/// kWarp. May be called again after a __syncthreads().
template <class T>
__device__ T block_sum(T value) {
  __shared__ T warp_sums[kMaxThreads / kWarp];
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  value = warp_sum(value);
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarp ? warp_sums[lane] : T{});
}

/// Sum of the values of the threads before this one; `total` becomes the sum of all. blockDim.x
/// must be a multiple of kWarp.
template <class T>
__device__ T block_prefix(T value, T& total) {
  __shared__ T warp_sums[kMaxThreads / kWarp];
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  T sum = value;
#pragma unroll
  for (unsigned offset = 1; offset < kWarp; offset *= 2) {
    const T other = __shfl_up_sync(kAllLanes, sum, offset);
    if (lane >= offset) sum += other;
  }
  __syncthreads();  // an earlier call may still be reading
  if (lane == kWarp - 1) warp_sums[warp] = sum;
  __syncthreads();
  total = T{};
  for (unsigned i = 0; i < blockDim.x / kWarp; ++i) {
    if (i == warp) sum += total;
    total += warp_sums[i];
  }
  return sum - value;
}

/// Calls `launch` with a value of the CUDA type of a plain element (kernels/check.hpp); only its
/// type matters. Ignores other elements, which check() refuses.
template <class Launch>
void for_plain_element(Element element, const Launch& launch) {
  switch (element) {
    case Element::fp32:
      return launch(float{});
    case Element::fp16:
      return launch(__half{});
    case Element::bf16:
      return launch(__nv_bfloat16{});
    case Element::fp8_e4m3:
    case Element::int8:
      return;
  }
}

}  // namespace roofcast::kernels::cuda
