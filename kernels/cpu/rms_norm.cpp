// Up to three passes over a row: the first adds the residual and stores the sum, the second squares
// it, the third scales it; all but the first read from L1. Memory traffic is that of
// kernels/rms_norm.hpp; it hides the arithmetic, 5 FLOP per 2 to 8 bytes, once the loops are
// vectorised.
#include "kernels/cpu/rms_norm.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

/// Independent partial sums: as many as the widest vector unit has floats, so that the compiler can
/// vectorise the sum without reordering it.
constexpr std::size_t kLanes = 16;

template <class T>
ROOFCAST_CLONES void add(const T* input, const T* residual, T* sum, std::size_t hidden) {
  for (std::size_t i = 0; i < hidden; ++i) {
    sum[i] = from_float<T>(to_float(input[i]) + to_float(residual[i]));
  }
}

template <class T>
ROOFCAST_CLONES float sum_of_squares(const T* row, std::size_t hidden) {
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= hidden; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = to_float(row[i + lane]);
      lanes[lane] += value * value;
    }
  }
  for (; i < hidden; ++i) {
    const float value = to_float(row[i]);
    lanes[i % kLanes] += value * value;
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

template <class T>
ROOFCAST_CLONES void scale_row(const T* sum, const T* weight, T* output, std::size_t hidden,
                               float scale) {
  for (std::size_t i = 0; i < hidden; ++i) {
    output[i] = from_float<T>(to_float(sum[i]) * scale * to_float(weight[i]));
  }
}

template <class T>
void normalise(const RmsNorm& norm, std::int64_t row) {
  const auto hidden = static_cast<std::size_t>(norm.hidden);
  const std::int64_t start = row * norm.hidden;
  const T* sum = static_cast<const T*>(norm.input) + start;
  if (norm.residual != nullptr) {
    T* stored = static_cast<T*>(norm.residual_out) + start;
    add(sum, static_cast<const T*>(norm.residual) + start, stored, hidden);
    sum = stored;
  }
  const float mean = sum_of_squares(sum, hidden) / static_cast<float>(norm.hidden);
  scale_row(sum, static_cast<const T*>(norm.weight), static_cast<T*>(norm.output) + start, hidden,
            1.0F / std::sqrt(mean + norm.epsilon));
}

}  // namespace

void rms_norm(const RmsNorm& norm, Range rows) {
  with_plain(norm.element, [&]<class T>(T) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) normalise<T>(norm, row);
  });
}

void rms_norm(const RmsNorm& norm) {
  check(norm);
  rms_norm(norm, {.begin = 0, .end = norm.rows});
}

}  // namespace roofcast::kernels::cpu
