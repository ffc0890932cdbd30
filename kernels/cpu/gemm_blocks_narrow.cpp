// fp16, fp8 and int8.
#include "kernels/cpu/gemm_block.hpp"

namespace roofcast::kernels::cpu {
namespace {

template <int N>
using Fp16Format = PlainFormat<N, Fp16>;
template <int N>
using Fp8Format = PlainFormat<N, Fp8E4M3>;

}  // namespace

BlockFunction narrow_block_function(Element element, Isa isa) {
  if (element == Element::fp16) return block_for<Fp16Format>(isa);
  return element == Element::int8 ? block_for<Int8Format>(isa) : block_for<Fp8Format>(isa);
}

}  // namespace roofcast::kernels::cpu
