// 4-bit weights.
#include "kernels/cpu/gemm_block.hpp"

namespace roofcast::kernels::cpu {
namespace {

template <int N>
using Int4Fp32Format = Int4Format<N, float>;
template <int N>
using Int4Fp16Format = Int4Format<N, Fp16>;
template <int N>
using Int4Bf16Format = Int4Format<N, Bf16>;

}  // namespace

BlockFunction int4_block_function(Element element, Isa isa) {
  if (element == Element::fp32) return block_for<Int4Fp32Format>(isa);
  return element == Element::fp16 ? block_for<Int4Fp16Format>(isa) : block_for<Int4Bf16Format>(isa);
}

}  // namespace roofcast::kernels::cpu
