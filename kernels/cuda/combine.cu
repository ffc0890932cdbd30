// Returns the experts' results to their tokens: output[t] = sum_j weight[t, j] input[place[t, j]].
//
// Shapes: input [tokens top_k, hidden]; place, weight [tokens, top_k]; output [tokens, hidden].
// FLOPs: 2 tokens top_k hidden. Bytes: tokens (top_k + 1) hidden elements; memory-bound.
//
// Launch: a thread sums one vector of 16 bytes over the choices, in order, in fp32; a row is
// divided into chunks of one CTA each, so that few tokens still use many SMs.
#include <algorithm>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreadsWanted = 128;
constexpr int kInFlight = 4;  // rows read at a time

template <class T>
struct Arguments {
  const Vector<T>* __restrict__ input;     // [tokens * top_k, vectors]
  const std::int32_t* __restrict__ place;  // [tokens, top_k]
  const float* __restrict__ weight;        // [tokens, top_k]
  Vector<T>* __restrict__ output;          // [tokens, vectors]
  int top_k;
  int vectors;      // per row
  unsigned chunks;  // CTAs per row
};

template <class T>
__global__ void __launch_bounds__(kThreadsWanted) combine_kernel(const Arguments<T> combine) {
  const auto token = static_cast<std::int64_t>(blockIdx.x / combine.chunks);
  const auto column = static_cast<int>(blockIdx.x % combine.chunks * blockDim.x + threadIdx.x);
  if (column >= combine.vectors) return;
  const std::int32_t* place = combine.place + token * combine.top_k;
  const float* weight = combine.weight + token * combine.top_k;

  float sum[kLanes<T>] = {};
#pragma unroll kInFlight
  for (int choice = 0; choice < combine.top_k; ++choice) {
    const std::int64_t row = place[choice];
    const Vector<T> vector = combine.input[row * combine.vectors + column];
    const float factor = weight[choice];
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) sum[i] = fmaf(factor, widen(vector.lane[i]), sum[i]);
  }
  Vector<T> output;
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) output.lane[i] = narrow<T>(sum[i]);
  combine.output[token * combine.vectors + column] = output;
}

template <class T>
void launch(const Combine& combine, cudaStream_t stream) {
  const int vectors = combine.hidden / kLanes<T>;
  const auto threads = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_divide(vectors, kWarp) * kWarp, kThreadsWanted));
  const std::int64_t chunks = ceil_divide(vectors, threads);
  require(combine.tokens * chunks <= kMaxRows, "combine",
          "tokens times CTAs a row must be at most 2^31 - 1");
  const Arguments<T> arguments{.input = static_cast<const Vector<T>*>(combine.input),
                               .place = combine.place,
                               .weight = combine.weight,
                               .output = static_cast<Vector<T>*>(combine.output),
                               .top_k = combine.top_k,
                               .vectors = vectors,
                               .chunks = static_cast<unsigned>(chunks)};
  combine_kernel<T>
      <<<static_cast<unsigned>(combine.tokens * chunks), threads, 0, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_combine(const Combine& combine, CUstream_st* stream) {
  check(combine);
  if (combine.tokens == 0) return;
  for_plain_element(combine.element, [&](auto type) { launch<decltype(type)>(combine, stream); });
}

}  // namespace roofcast::kernels::cuda
