// The operators between matrices and attention on the GPU. Contracts, shapes and bytes:
// kernels/token_operators.hpp.
#pragma once

#include "kernels/token_operators.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

// Each queues its kernels on `stream`; all pointers are device memory. Throws std::invalid_argument
// if the contract is violated, CudaError if the launch fails. Workspaces are not used.

void launch_embedding(const Embedding& embedding, CUstream_st* stream);
void launch_rope(const Rope& rope, CUstream_st* stream);
void launch_kv_write(const KvWrite& write, CUstream_st* stream);
void launch_activation(const Activation& activation, CUstream_st* stream);
void launch_sampling(const Sampling& sampling, CUstream_st* stream);
void launch_gather_rows(const GatherRows& gather, CUstream_st* stream);
void launch_routing(const Routing& routing, CUstream_st* stream);
void launch_combine(const Combine& combine, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
