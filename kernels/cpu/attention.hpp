// The attention of kernels/attention.hpp on the CPU: paged caches of fp32, fp16, bf16 and fp8, any
// grouping of heads, causal with an optional window; softmax and sums in fp32.
//
// The result of a query has the same bits in a prompt, in a chunk of one or alone, in any batch,
// and with any number of threads: kernels/cpu/attention_rows.hpp explains why.
#pragma once

#include "kernels/attention.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"

namespace roofcast::kernels::cpu {

/// Maximum sizes of one head's key and value.
inline constexpr int kMaxKeyDim = 576;
inline constexpr int kMaxValueDim = 512;

bool supported(const PrefillAttention& attention);
bool supported(const DecodeAttention& attention);
bool supported(const LatentDecode& attention);

/// Each returns when the output is written. Throws std::invalid_argument on a bad shape.
/// Preconditions: supported(attention), and the machine has the instruction set.
void prefill_attention(const PrefillAttention& attention, ThreadPool& pool, Isa isa);
void decode_attention(const DecodeAttention& attention, ThreadPool& pool, Isa isa);
void latent_decode(const LatentDecode& attention, ThreadPool& pool, Isa isa);

}  // namespace roofcast::kernels::cpu
