// Scales the int32 sums of an int8 product, as the tensor cores produce them, to the result of
// kernels/gemm.hpp.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// output[i] = sums[i] input_scale weight_scale, rounded to the result; int8 saturates.
struct IntegerResult {
  Element result = Element::bf16;      // fp32, fp16, bf16 or int8
  std::int64_t count = 0;              // a multiple of 4
  const std::int32_t* sums = nullptr;  // [count]; may be the output of fp32
  const float* input_scale = nullptr;  // on the device, like the pointers below
  const float* weight_scale = nullptr;
  void* output = nullptr;  // [count]
};

/// Queues the kernel on `stream`; pointers are aligned to 16 bytes. Throws std::invalid_argument
/// for bad parameters, CudaError if the launch fails.
void launch_integer_result(const IntegerResult& integers, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
