// fp32 and bf16.
#include "kernels/cpu/gemm_block.hpp"

namespace roofcast::kernels::cpu {
namespace {

template <int N>
using Fp32Format = PlainFormat<N, float>;

ROOFCAST_TARGET_AVX512_BF16 void block_bf16_pairs(const Product& product, Range m, Range n) {
  compute_block<PairFormat>(product, m, n);
}

}  // namespace

BlockFunction wide_block_function(Element element, Isa isa) {
  if (element == Element::fp32) return block_for<Fp32Format>(isa);
  return isa == Isa::avx512_bf16 ? block_bf16_pairs : block_for<Bf16Format>(isa);
}

}  // namespace roofcast::kernels::cpu
