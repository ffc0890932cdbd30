// The operators of kernels/token_operators.hpp on the CPU: each processes a range of its tokens or
// rows in the calling thread, so that callers can divide the work. Call the contract's check()
// first: nothing here throws.
#pragma once

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/token_operators.hpp"

namespace roofcast::kernels::cpu {

void embedding(const Embedding& embedding, Range tokens);
void gather_rows(const GatherRows& gather, Range rows);
void rope(const Rope& rope, Range tokens);
void kv_write(const KvWrite& write, Range tokens);
void activation(const Activation& activation, Range rows);
/// Does not use its workspace.
void sampling(const Sampling& sampling, Range rows);
void combine(const Combine& combine, Range tokens);

/// First half of routing: writes the weights and, to `place`, the expert of each choice.
void choose_experts(const Routing& routing, Range tokens);

/// Second half, after all tokens have chosen. Neither half uses the workspace.
void sort_by_expert(const Routing& routing);

}  // namespace roofcast::kernels::cpu
