// KV write: copies a row of all KV heads to its slot, or rounds it to fp8.
#include <cstddef>
#include <cstring>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/token_operators.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

template <class T>
ROOFCAST_CLONES void narrow(const T* from, Fp8E4M3* to, std::int64_t count, float scale) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = from_float<Fp8E4M3>(to_float(from[i]) / scale);
  }
}

/// Writes one row of keys or values to a cache with the same element.
template <class T>
void store(const T* from, T* to, std::int64_t count, float) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
void store(const T* from, Fp8E4M3* to, std::int64_t count, float scale) {
  narrow(from, to, count, scale);
}

/// T: element of the input; C: element of the cache.
template <class T, class C>
void write_tokens(const KvWrite& write, Range tokens) {
  const PagedCache& cache = write.cache;
  const std::int64_t row = std::int64_t{cache.kv_heads} * cache.head_dim;
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    const std::int64_t from = t * write.stride;
    const std::int64_t to = write.slot[t] * row;
    store(static_cast<const T*>(write.key) + from, static_cast<C*>(cache.keys) + to, row,
          cache.key_scale);
    store(static_cast<const T*>(write.value) + from, static_cast<C*>(cache.values) + to, row,
          cache.value_scale);
  }
}

}  // namespace

void kv_write(const KvWrite& write, Range tokens) {
  with_plain(write.element, [&]<class T>(T) {
    if (write.cache.element == Element::fp8_e4m3) return write_tokens<T, Fp8E4M3>(write, tokens);
    write_tokens<T, T>(write, tokens);
  });
}

}  // namespace roofcast::kernels::cpu
