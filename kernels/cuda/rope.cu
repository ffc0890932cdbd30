// Rotary position embedding, in place: with i < head_dim / 2 and the angle of (position, i),
//   head[i]                <- head[i] cos - head[i + head_dim / 2] sin
//   head[i + head_dim / 2] <- head[i + head_dim / 2] cos + head[i] sin
//
// Shapes: query [tokens, query_heads, head_dim] and key [tokens, kv_heads, head_dim], each token's
// heads contiguous within rows of `stride` elements; cosine, sine [positions, head_dim / 2] in
// fp32. FLOPs: 3 tokens heads head_dim. Bytes: 2 tokens heads head_dim elements; memory-bound.
//
// Launch: one CTA per token, so that its row of the rotation table is read into L1 once; a thread
// rotates one vector of 16 bytes and its partner in the head's other half. Arithmetic in fp32.
#include <algorithm>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreadsWanted = 256;

/// Rope with typed pointers. `query` and `key` may be in one allocation but must not overlap.
template <class T>
struct Arguments {
  Vector<T>* query;
  Vector<T>* key;
  const std::int32_t* __restrict__ position;  // [tokens]
  const float* __restrict__ cosine;           // [positions, half * kLanes<T>]
  const float* __restrict__ sine;
  int query_heads;
  int heads;            // of queries and keys
  int half;             // vectors of half a head
  std::int64_t stride;  // vectors from one token's row to the next
};

/// The fp32 values for the elements of one Vector<T>.
template <class T>
struct Factors {
  float lane[kLanes<T>];
};

template <class T>
__device__ Factors<T> load_factors(const float* table) {
  Factors<T> factors;
#pragma unroll
  for (int i = 0; i < kLanes<T>; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(table + i);
    factors.lane[i] = four.x;
    factors.lane[i + 1] = four.y;
    factors.lane[i + 2] = four.z;
    factors.lane[i + 3] = four.w;
  }
  return factors;
}

template <class T>
__global__ void __launch_bounds__(kThreadsWanted) rope_kernel(const Arguments<T> rope) {
  const auto token = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t table_row =
      static_cast<std::int64_t>(rope.position[token]) * rope.half * kLanes<T>;

  for (int work = static_cast<int>(threadIdx.x); work < rope.heads * rope.half;
       work += static_cast<int>(blockDim.x)) {
    const int head = work / rope.half;
    const int column = work % rope.half;
    const bool is_query = head < rope.query_heads;
    Vector<T>* tensor = is_query ? rope.query : rope.key;
    const std::int64_t head_of_tensor = is_query ? head : head - rope.query_heads;
    Vector<T>* low = tensor + token * rope.stride + head_of_tensor * 2 * rope.half + column;
    Vector<T>* high = low + rope.half;

    Vector<T> a = *low;
    Vector<T> b = *high;
    const Factors<T> cosine = load_factors<T>(rope.cosine + table_row + column * kLanes<T>);
    const Factors<T> sine = load_factors<T>(rope.sine + table_row + column * kLanes<T>);
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      const float x = widen(a.lane[i]);
      const float y = widen(b.lane[i]);
      a.lane[i] = narrow<T>(x * cosine.lane[i] - y * sine.lane[i]);
      b.lane[i] = narrow<T>(y * cosine.lane[i] + x * sine.lane[i]);
    }
    *low = a;
    *high = b;
  }
}

template <class T>
void launch(const Rope& rope, cudaStream_t stream) {
  const Arguments<T> arguments{.query = static_cast<Vector<T>*>(rope.query),
                               .key = static_cast<Vector<T>*>(rope.key),
                               .position = rope.position,
                               .cosine = rope.cosine,
                               .sine = rope.sine,
                               .query_heads = rope.query_heads,
                               .heads = rope.query_heads + rope.kv_heads,
                               .half = rope.head_dim / 2 / kLanes<T>,
                               .stride = rope.stride / kLanes<T>};
  const std::int64_t work = std::int64_t{arguments.heads} * arguments.half;
  const auto threads = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_divide(work, kWarp) * kWarp, kThreadsWanted));
  rope_kernel<T><<<static_cast<unsigned>(rope.tokens), threads, 0, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_rope(const Rope& rope, CUstream_st* stream) {
  check(rope);
  if (rope.tokens == 0) return;
  for_plain_element(rope.element, [&](auto type) { launch<decltype(type)>(rope, stream); });
}

}  // namespace roofcast::kernels::cuda
