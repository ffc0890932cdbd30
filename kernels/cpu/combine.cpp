// Combine: a weighted sum of top_k rows, accumulated in fp32 for a piece of the row that fits in
// L1.
#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/token_operators.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

constexpr int kPiece = 512;

template <class T>
ROOFCAST_CLONES void combine_token(const Combine& combine, std::int64_t token) {
  const std::int32_t* place = combine.place + token * combine.top_k;
  const float* weight = combine.weight + token * combine.top_k;
  T* output = static_cast<T*>(combine.output) + token * combine.hidden;
  for (int first = 0; first < combine.hidden; first += kPiece) {
    const int columns = std::min(kPiece, combine.hidden - first);
    std::array<float, kPiece> sums{};
    for (int j = 0; j < combine.top_k; ++j) {
      const T* row =
          static_cast<const T*>(combine.input) + std::int64_t{place[j]} * combine.hidden + first;
      for (int i = 0; i < columns; ++i) {
        sums[static_cast<std::size_t>(i)] += weight[j] * to_float(row[i]);
      }
    }
    for (int i = 0; i < columns; ++i) {
      output[first + i] = from_float<T>(sums[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace

void combine(const Combine& combine, Range tokens) {
  with_plain(combine.element, [&]<class T>(T) {
    for (std::int64_t t = tokens.begin; t < tokens.end; ++t) combine_token<T>(combine, t);
  });
}

}  // namespace roofcast::kernels::cpu
