// Attention over a paged KV cache on the GPU, own kernels for compute capability 8.0 and up.
// Contracts, shapes and masks: kernels/attention.hpp. cuDNN's are in
// kernels/cuda/cudnn_attention.hpp.
#pragma once

#include "kernels/attention.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

// Each launcher queues its kernels on `stream`; all pointers are device memory. It throws
// std::invalid_argument when the contract is broken or supports_*() is false, CudaError when the
// launch fails. `multiprocessors` of the device size the grids.

/// FlashAttention-2 (Dao, arXiv 2307.08691): head dim 64, 128 or 256; bf16 or fp16, over a cache of
/// the same element or fp8.
bool supports_prefill_attention(const PrefillAttention& attention);
void launch_prefill_attention(const PrefillAttention& attention, CUstream_st* stream);

/// Split KV with a second kernel that joins the parts: as prefill, any number of query heads a KV
/// head.
bool supports_decode_attention(const DecodeAttention& attention);
void launch_decode_attention(const DecodeAttention& attention, int multiprocessors,
                             CUstream_st* stream);

/// Split KV; 512 latent and 64 rotary elements, bf16 or fp16.
bool supports_latent_decode(const LatentDecode& attention);
void launch_latent_decode(const LatentDecode& attention, int multiprocessors, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
