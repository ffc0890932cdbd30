// Own matrix products on the GPU. Contracts and shapes: kernels/gemm.hpp. cuBLASLt's are in
// kernels/cuda/cublaslt_gemm.hpp.
#pragma once

#include "kernels/gemm.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

// Each launcher queues its kernel on `stream`; all pointers are device memory. It throws
// std::invalid_argument when the contract is broken or supports_*() is false, CudaError when the
// launch fails. `multiprocessors` of the device size the grids.

/// Persistent over tiles of all experts: fp16, bf16; at most 512 experts.
bool supports_grouped_gemm(const GroupedGemm& gemm);
void launch_grouped_gemm(const GroupedGemm& gemm, int multiprocessors, CUstream_st* stream);

/// The same kernel with one matrix, for where cuBLASLt is not found: fp16, bf16; n and k multiples
/// of 8.
bool supports_dense_gemm(const Gemm& gemm);
void launch_dense_gemm(const Gemm& gemm, int multiprocessors, CUstream_st* stream);

/// Weights widened in registers: fp16, bf16.
bool supports_int4_gemm(const Int4Gemm& gemm);
void launch_int4_gemm(const Int4Gemm& gemm, int multiprocessors, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
