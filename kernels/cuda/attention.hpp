// Attention over a paged KV cache on the GPU: our own kernels for compute capability 8.0 and up.
// Contracts, shapes and masks: kernels/attention.hpp. For cuDNN's kernels see
// kernels/cuda/cudnn_attention.hpp.
#pragma once

#include "kernels/attention.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

// Each launcher queues its kernels on `stream`; all pointers are device memory. It throws
// std::invalid_argument if the contract is violated or supports_*() is false, CudaError if the
// launch fails. `multiprocessors` of the device sets the grid size.

/// FlashAttention-2 (Dao, arXiv 2307.08691): head dim 64, 128 or 256; bf16 or fp16, over a cache of
/// the same element or fp8.
bool supports_prefill_attention(const PrefillAttention& attention);
void launch_prefill_attention(const PrefillAttention& attention, CUstream_st* stream);

/// Split KV with a second kernel that merges the parts: element types and head dims as for prefill,
/// any number of query heads per KV head.
bool supports_decode_attention(const DecodeAttention& attention);
void launch_decode_attention(const DecodeAttention& attention, int multiprocessors,
                             CUstream_st* stream);

/// Split KV; 512 latent and 64 rotary elements, bf16 or fp16.
bool supports_latent_decode(const LatentDecode& attention);
void launch_latent_decode(const LatentDecode& attention, int multiprocessors, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
