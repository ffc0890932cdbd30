// The products of kernels/gemm.hpp by our own kernels: fp32, fp16, bf16, fp8 and int8, grouped, and
// with 4-bit weights; for any shape. Fastest with few rows, where reading the weight at memory
// speed dominates. A row of the output has the same bits whatever the other rows and the number of
// threads (kernels/cpu/gemm_block.hpp explains why); rounding differs between instruction sets.
#pragma once

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/gemm.hpp"

namespace roofcast::kernels::cpu {

RowForm gemm_row_form();

/// Each returns when the output is written. Throws std::invalid_argument for a bad shape.
/// Precondition: the machine has the instruction set.
void gemm(const Gemm& gemm, ThreadPool& pool, Isa isa);
void grouped_gemm(const GroupedGemm& gemm, ThreadPool& pool, Isa isa);
void int4_gemm(const Int4Gemm& gemm, ThreadPool& pool, Isa isa);

}  // namespace roofcast::kernels::cpu
