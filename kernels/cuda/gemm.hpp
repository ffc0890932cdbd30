// Our own matrix products on the GPU. Contracts and shapes: kernels/gemm.hpp. For cuBLASLt's see
// kernels/cuda/cublaslt_gemm.hpp.
#pragma once

#include "kernels/gemm.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

// Each launcher queues its kernel on `stream`; all pointers are device memory. It throws
// std::invalid_argument if the contract is violated or supports_*() is false, CudaError if the
// launch fails. `multiprocessors` of the device sets the grid size.

/// Persistent over the tiles of all experts: fp16, bf16; at most 512 experts.
bool supports_grouped_gemm(const GroupedGemm& gemm);
void launch_grouped_gemm(const GroupedGemm& gemm, int multiprocessors, CUstream_st* stream);

/// The same kernel with one matrix, for use without cuBLASLt: fp16, bf16; n and k multiples of 8.
bool supports_dense_gemm(const Gemm& gemm);
void launch_dense_gemm(const Gemm& gemm, int multiprocessors, CUstream_st* stream);

/// Widens the weights in registers: fp16, bf16.
bool supports_int4_gemm(const Int4Gemm& gemm);
void launch_int4_gemm(const Int4Gemm& gemm, int multiprocessors, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
