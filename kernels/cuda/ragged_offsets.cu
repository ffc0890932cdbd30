// Converts row numbers to element offsets and lengths, one thread per sequence; launch-bound.
#include "kernels/cuda/ragged_offsets.hpp"

#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void ragged_offsets_kernel(const RaggedOffsets offsets) {
  const int s = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (s > offsets.sequences) return;
  const std::int32_t first = offsets.first_query[s];
  offsets.query_offset[s] = first * offsets.query_stride;
  offsets.output_offset[s] = first * offsets.output_stride;
  if (s < offsets.sequences) offsets.query_length[s] = offsets.first_query[s + 1] - first;
}

}  // namespace

void launch_ragged_offsets(const RaggedOffsets& offsets, CUstream_st* stream) {
  const auto ctas = static_cast<unsigned>(offsets.sequences / kThreads + 1);
  ragged_offsets_kernel<<<ctas, kThreads, 0, stream>>>(offsets);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace roofcast::kernels::cuda
