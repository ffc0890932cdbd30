// The products of kernels/quantized_gemm.hpp. A row of the output has the same bits whatever the
// other rows and the number of threads.
#pragma once

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/gemm.hpp"
#include "kernels/quantized_gemm.hpp"

namespace roofcast::kernels::cpu {

/// Instructions that multiply bytes, best last; they are not ordered like Isa.
enum class DotIsa {
  portable,
  avx2,         // VPMADDUBSW: 16-bit sums, widened before they overflow
  avx_vnni,     // VPDPBUSD on 32-byte vectors, without AVX-512
  avx512_vnni,  // VPDPBUSD on 64-byte vectors
};

bool has(DotIsa isa);
DotIsa best_dot_isa();
std::string_view name_of(DotIsa isa);

RowForm quantized_row_form(DotIsa isa);

/// Returns when the output is written. Throws std::invalid_argument for a bad shape. Precondition:
/// the machine has the instruction set.
void quantized_gemm(const QuantizedGemm& gemm, ThreadPool& pool, DotIsa isa);

}  // namespace roofcast::kernels::cpu
