// RoPE: six operations and four or eight bytes per pair; memory-bound, because the loop over half a
// head vectorises.
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/token_operators.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

/// Rotates `heads` consecutive heads by the angles of one position.
template <class T>
ROOFCAST_CLONES void rotate(T* heads, int count, int half, const float* cosine, const float* sine) {
  for (int h = 0; h < count; ++h) {
    T* __restrict__ low = heads + std::int64_t{2} * h * half;
    T* __restrict__ high = low + half;
    for (int i = 0; i < half; ++i) {
      const float a = to_float(low[i]);
      const float b = to_float(high[i]);
      low[i] = from_float<T>(a * cosine[i] - b * sine[i]);
      high[i] = from_float<T>(b * cosine[i] + a * sine[i]);
    }
  }
}

}  // namespace

void rope(const Rope& rope, Range tokens) {
  const int half = rope.head_dim / 2;
  with_plain(rope.element, [&]<class T>(T) {
    for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
      const float* cosine = rope.cosine + std::int64_t{rope.position[t]} * half;
      const float* sine = rope.sine + std::int64_t{rope.position[t]} * half;
      T* query = static_cast<T*>(rope.query) + t * rope.stride;
      T* key = static_cast<T*>(rope.key) + t * rope.stride;
      rotate(query, rope.query_heads, half, cosine, sine);
      rotate(key, rope.kv_heads, half, cosine, sine);
    }
  });
}

}  // namespace roofcast::kernels::cpu
