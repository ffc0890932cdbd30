// Writes each token's key and value to its slot of the paged cache, unchanged or, for an fp8 cache,
// divided by the cache's scales and rounded.
//
// Shapes: key, value [tokens, kv_heads, head_dim] within rows of `stride` elements; slot [tokens];
// cache keys and values [slots, kv_heads, head_dim]. Negligible FLOPs. Bytes: 2 tokens kv_heads
// head_dim of both formats; memory-bound, or launch-bound in decode.
//
// Launch: one CTA per token; a thread reads 16 bytes and writes the same number of elements.
#include <algorithm>
#include <type_traits>

#include <cuda_fp8.h>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreadsWanted = 256;

/// fp8 elements for one Vector<T>: 8 bytes for 16-bit elements, 4 for fp32.
template <class T>
struct alignas(kLanes<T>) EightBits {
  std::uint8_t lane[kLanes<T>];
};

/// The cached form of one Vector<T>.
template <class T, bool kToFp8>
using Stored = std::conditional_t<kToFp8, EightBits<T>, Vector<T>>;

template <class T, bool kToFp8>
struct Arguments {
  const Vector<T>* __restrict__ key;  // [tokens, vectors] within rows of `stride` vectors
  const Vector<T>* __restrict__ value;
  const std::int64_t* __restrict__ slot;
  Stored<T, kToFp8>* __restrict__ keys;  // [slots, vectors]
  Stored<T, kToFp8>* __restrict__ values;
  int vectors;  // per token
  std::int64_t stride;
  float key_scale;
  float value_scale;
};

template <class T, bool kToFp8>
__device__ Stored<T, kToFp8> stored(const Vector<T>& vector, float scale) {
  if constexpr (kToFp8) {
    EightBits<T> result;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      result.lane[i] =
          __nv_cvt_float_to_fp8(widen(vector.lane[i]) / scale, __NV_SATFINITE, __NV_E4M3);
    }
    return result;
  } else {
    return vector;
  }
}

template <class T, bool kToFp8>
__global__ void __launch_bounds__(kThreadsWanted)
    kv_write_kernel(const Arguments<T, kToFp8> write) {
  const auto token = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t from = token * write.stride;
  const std::int64_t to = write.slot[token] * write.vectors;
  for (int at = static_cast<int>(threadIdx.x); at < write.vectors;
       at += static_cast<int>(blockDim.x)) {
    const Vector<T> key = write.key[from + at];
    const Vector<T> value = write.value[from + at];
    write.keys[to + at] = stored<T, kToFp8>(key, write.key_scale);
    write.values[to + at] = stored<T, kToFp8>(value, write.value_scale);
  }
}

template <class T, bool kToFp8>
void launch(const KvWrite& write, cudaStream_t stream) {
  const Arguments<T, kToFp8> arguments{
      .key = static_cast<const Vector<T>*>(write.key),
      .value = static_cast<const Vector<T>*>(write.value),
      .slot = write.slot,
      .keys = static_cast<Stored<T, kToFp8>*>(write.cache.keys),
      .values = static_cast<Stored<T, kToFp8>*>(write.cache.values),
      .vectors = write.cache.kv_heads * write.cache.head_dim / kLanes<T>,
      .stride = write.stride / kLanes<T>,
      .key_scale = write.cache.key_scale,
      .value_scale = write.cache.value_scale};
  const auto threads = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_divide(arguments.vectors, kWarp) * kWarp, kThreadsWanted));
  kv_write_kernel<T, kToFp8>
      <<<static_cast<unsigned>(write.tokens), threads, 0, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_kv_write(const KvWrite& write, CUstream_st* stream) {
  check(write);
  if (write.tokens == 0) return;
  for_plain_element(write.element, [&](auto type) {
    using T = decltype(type);
    if (write.cache.element == write.element) return launch<T, false>(write, stream);
    launch<T, true>(write, stream);
  });
}

}  // namespace roofcast::kernels::cuda
