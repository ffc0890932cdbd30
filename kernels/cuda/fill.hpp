// Random operands generated on the GPU, as defined by kernels/normal_values.hpp.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

struct NormalFill {
  Element element = Element::bf16;
  void* data = nullptr;  // [count], aligned to 16 bytes
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  float deviation = 1;
};

/// Sets element i to value i of the stream `seed` times `deviation`, rounded to the element (fp8
/// and int8 saturate). Throws std::invalid_argument for bad parameters, CudaError if the launch
/// fails.
void launch_fill_normal(const NormalFill& fill, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
