// output[i] = sums[i] input_scale weight_scale: the result of an int8 product from its int32 sums.
//
// Shapes: sums, output [count]. FLOPs: 2 count. Bytes: 4 per sum, plus the result; memory-bound.
//
// Launch: a thread takes four neighbouring sums, 16 bytes. Arithmetic in fp32, so an int32 is first
// rounded to 24 bits.
#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/integer_result.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSums = 4;  // per thread

template <class T>
struct alignas(kSums * sizeof(T)) Four {
  T lane[kSums];
};

/// Not __restrict__: fp32 results may overwrite the sums.
template <class T>
__global__ void __launch_bounds__(kThreads)
    integer_result_kernel(const int4* sums, const float* input_scale, const float* weight_scale,
                          Four<T>* output, std::int64_t fours) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= fours) return;
  const float scale = *input_scale * *weight_scale;
  const int4 four = sums[at];
  output[at] = {
      narrow<T>(static_cast<float>(four.x) * scale), narrow<T>(static_cast<float>(four.y) * scale),
      narrow<T>(static_cast<float>(four.z) * scale), narrow<T>(static_cast<float>(four.w) * scale)};
}

template <class T>
void launch(const IntegerResult& integers, cudaStream_t stream) {
  const std::int64_t fours = integers.count / kSums;
  const std::int64_t blocks = ceil_divide(fours, kThreads);
  require(blocks <= kMaxRows, "int8 result", "the count must be at most 2^41");
  integer_result_kernel<T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      reinterpret_cast<const int4*>(integers.sums), integers.input_scale, integers.weight_scale,
      static_cast<Four<T>*>(integers.output), fours);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_integer_result(const IntegerResult& integers, CUstream_st* stream) {
  require(integers.count >= 0 && integers.count % kSums == 0, "int8 result",
          "the count must be a multiple of 4");
  require(integers.result != Element::fp8_e4m3, "int8 result", "int8 products have no fp8 result");
  if (integers.count == 0) return;
  require(all_given(integers.sums, integers.input_scale, integers.weight_scale, integers.output) &&
              all_aligned(integers.sums, integers.output),
          "int8 result", "all pointers must be given, sums and output aligned to 16 bytes");
  if (integers.result == Element::int8) return launch<std::int8_t>(integers, stream);
  for_plain_element(integers.result, [&](auto type) { launch<decltype(type)>(integers, stream); });
}

}  // namespace roofcast::kernels::cuda
