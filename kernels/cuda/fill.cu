// Fills a tensor with normally distributed values: kernels/normal_values.hpp by element index.
//
// Shapes: data [count]. FLOPs: about 40 per element. Bytes: count elements; compute-bound.
//
// Launch: a thread computes a pair of values and stores both, striding over the tensor.
#include <cuda_fp8.h>

#include <algorithm>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/vector.cuh"
#include "kernels/normal_values.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = 8192;  // several waves on any GPU; threads loop

/// Storage of an fp8 element, distinct from other bytes.
struct Fp8 {
  __nv_fp8_storage_t bits;
};

template <class T>
__device__ T rounded(float value) {
  return narrow<T>(value);
}
template <>
__device__ Fp8 rounded<Fp8>(float value) {
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
}

/// Two elements, stored by one instruction.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T first;
  T second;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_normal_kernel(T* __restrict__ data, std::int64_t count, std::uint64_t seed,
                       float deviation) {
  auto* pairs = reinterpret_cast<Pair<T>*>(data);
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t pair = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       2 * pair < count; pair += threads) {
    const NormalPair values = normal_pair(seed, static_cast<std::uint64_t>(pair));
    const T first = rounded<T>(values.first * deviation);
    if (2 * pair + 1 < count) {
      pairs[pair] = {first, rounded<T>(values.second * deviation)};
    } else {
      data[2 * pair] = first;
    }
  }
}

template <class T>
void launch(const NormalFill& fill, cudaStream_t stream) {
  const std::int64_t blocks = std::min(ceil_divide(fill.count, 2 * kThreads), kMaxBlocks);
  fill_normal_kernel<T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<T*>(fill.data), fill.count, fill.seed, fill.deviation);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_fill_normal(const NormalFill& fill, CUstream_st* stream) {
  require(fill.count >= 0, "normal fill", "the count must not be negative");
  if (fill.count == 0) return;
  require(fill.data != nullptr && aligned(fill.data), "normal fill",
          "the data must be given and aligned to 16 bytes");
  switch (fill.element) {
    case Element::fp32:
      return launch<float>(fill, stream);
    case Element::fp16:
      return launch<__half>(fill, stream);
    case Element::bf16:
      return launch<__nv_bfloat16>(fill, stream);
    case Element::fp8_e4m3:
      return launch<Fp8>(fill, stream);
    case Element::int8:
      return launch<std::int8_t>(fill, stream);
  }
}

}  // namespace roofcast::kernels::cuda
