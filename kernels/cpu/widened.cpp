#include "kernels/cpu/widened.hpp"

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/vector.hpp"

namespace roofcast::kernels::cpu {
namespace {

template <int N>
ROOFCAST_INLINE void widen_by(float* to, const void* from, Element element, std::int64_t count) {
  const std::int64_t vectors = count / N * N;
  const auto all = [&](const auto* elements) __attribute__((always_inline)) {
    widen<N>(to, elements, vectors, vectors);
    for (std::int64_t i = vectors; i < count; ++i) to[i] = to_float(elements[i]);
  };
  if (element == Element::bf16) all(static_cast<const Bf16*>(from));
  if (element == Element::fp16) all(static_cast<const Fp16*>(from));
}

void widen_portable(float* to, const void* from, Element element, std::int64_t count) {
  widen_by<4>(to, from, element, count);
}
ROOFCAST_TARGET_AVX2 void widen_avx2(float* to, const void* from, Element element,
                                     std::int64_t count) {
  widen_by<8>(to, from, element, count);
}
ROOFCAST_TARGET_AVX512 void widen_avx512(float* to, const void* from, Element element,
                                         std::int64_t count) {
  widen_by<16>(to, from, element, count);
}

ROOFCAST_CLONES void narrow_to_bf16(Bf16* to, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from_float<Bf16>(from[i]);
}
ROOFCAST_CLONES void narrow_to_fp16(Fp16* to, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from_float<Fp16>(from[i]);
}

}  // namespace

void widen(float* to, const void* from, Element element, std::int64_t count) {
  static const auto widest = has(Isa::avx512) ? widen_avx512
                             : has(Isa::avx2) ? widen_avx2
                                              : widen_portable;
  widest(to, from, element, count);
}

void narrow(void* to, const float* from, Element element, std::int64_t count) {
  if (element == Element::bf16) narrow_to_bf16(static_cast<Bf16*>(to), from, count);
  if (element == Element::fp16) narrow_to_fp16(static_cast<Fp16*>(to), from, count);
}

}  // namespace roofcast::kernels::cpu
