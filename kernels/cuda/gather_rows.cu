// Gathers rows by index: output[r] = input[index[r]]. Serves both embedding (the table's rows by
// token) and gathering (tokens before their experts).
//
// Shapes: index [rows]; input [any, hidden]; output [rows, hidden]; row-major, rows of whole
// 16-byte vectors. No FLOPs. Bytes: 2 rows hidden elements; memory-bound, or launch-bound with few
// rows.
//
// Launch: one CTA per row, so that the index is read once; each thread moves vectors, four in
// flight in a wide row.
#include <algorithm>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreadsWanted = 256;
constexpr int kInFlight = 4;

struct Arguments {
  const std::int32_t* __restrict__ index;  // [rows]
  const uint4* __restrict__ input;         // [any, vectors]
  uint4* __restrict__ output;              // [rows, vectors]
  int vectors;                             // per row
};

__global__ void __launch_bounds__(kThreadsWanted) gather_rows_kernel(const Arguments gather) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const uint4* from = gather.input + static_cast<std::int64_t>(gather.index[row]) * gather.vectors;
  uint4* to = gather.output + row * gather.vectors;
  const int threads = static_cast<int>(blockDim.x);

  int at = static_cast<int>(threadIdx.x);
  for (; at + (kInFlight - 1) * threads < gather.vectors; at += kInFlight * threads) {
    uint4 held[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) held[i] = from[at + i * threads];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) to[at + i * threads] = held[i];
  }
  for (; at < gather.vectors; at += threads) to[at] = from[at];
}

void launch(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  if (rows == 0) return;
  const auto threads = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_divide(arguments.vectors, kWarp) * kWarp, kThreadsWanted));
  gather_rows_kernel<<<static_cast<unsigned>(rows), threads, 0, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

int vectors_of_row(Element element, int hidden) {
  return static_cast<int>(static_cast<std::size_t>(hidden) * size_of(element) / kVectorBytes);
}

}  // namespace

void launch_embedding(const Embedding& embedding, CUstream_st* stream) {
  check(embedding);
  launch({.index = embedding.token,
          .input = static_cast<const uint4*>(embedding.table),
          .output = static_cast<uint4*>(embedding.output),
          .vectors = vectors_of_row(embedding.element, embedding.hidden)},
         embedding.tokens, stream);
}

void launch_gather_rows(const GatherRows& gather, CUstream_st* stream) {
  check(gather);
  launch({.index = gather.row,
          .input = static_cast<const uint4*>(gather.input),
          .output = static_cast<uint4*>(gather.output),
          .vectors = vectors_of_row(gather.element, gather.hidden)},
         gather.rows, stream);
}

}  // namespace roofcast::kernels::cuda
