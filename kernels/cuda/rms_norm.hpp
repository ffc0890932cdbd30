// RMSNorm with residual on the GPU. Contract, shapes and bytes: kernels/rms_norm.hpp.
#pragma once

#include "kernels/rms_norm.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// Queues the kernel on `stream`; all pointers are device memory. Throws std::invalid_argument for
/// a bad shape, CudaError if the launch fails.
void launch_rms_norm(const RmsNorm& norm, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
