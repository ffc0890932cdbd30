// The operators of kernels/token_operators.hpp on the CPU: each on a range of its tokens or rows,
// in the calling thread, so that a caller can share the ranges out. check() of the contract comes
// before: nothing here throws.
#pragma once

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/token_operators.hpp"

namespace roofcast::kernels::cpu {

void embedding(const Embedding& embedding, Range tokens);
void gather_rows(const GatherRows& gather, Range rows);
void rope(const Rope& rope, Range tokens);
void kv_write(const KvWrite& write, Range tokens);
void activation(const Activation& activation, Range rows);
/// Its workspace is not used.
void sampling(const Sampling& sampling, Range rows);
void combine(const Combine& combine, Range tokens);

/// The first half of a routing: weights, and in `place` the expert of each choice.
void choose_experts(const Routing& routing, Range tokens);

/// The second half, once all tokens have chosen. The workspace is not used by either.
void sort_by_expert(const Routing& routing);

}  // namespace roofcast::kernels::cpu
