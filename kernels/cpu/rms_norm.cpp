// Two passes over a row: the first adds, stores the sum and squares it; the second reads the sum
// back from L1 and scales it. Memory traffic is that of kernels/rms_norm.hpp; the arithmetic, 5
// FLOP per 2 to 8 bytes, hides behind it once the loops are vectorised.
#include "kernels/cpu/rms_norm.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace roofcast::kernels::cpu {
namespace {

/// Independent partial sums: as many as the widest vector unit holds floats, so that the compiler
/// may vectorise the sum without reordering it.
constexpr std::size_t kLanes = 16;

/// The pointers of one row. `sum` is where the normalised values are read from.
template <class T>
struct Row {
  const T* input;
  const T* residual;  // or null
  T* residual_out;    // or null
  T* output;
};

template <class T>
float add_and_store(const Row<T>& row, std::size_t i) {
  if (row.residual == nullptr) return to_float(row.input[i]);
  const T sum = from_float<T>(to_float(row.input[i]) + to_float(row.residual[i]));
  row.residual_out[i] = sum;
  return to_float(sum);
}

template <class T>
float sum_of_squares(const Row<T>& row, std::size_t hidden) {
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= hidden; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = add_and_store(row, i + lane);
      lanes[lane] += value * value;
    }
  }
  for (; i < hidden; ++i) {
    const float value = add_and_store(row, i);
    lanes[i % kLanes] += value * value;
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

template <class T>
void normalise_row(const Row<T>& row, const T* weight, std::size_t hidden, float epsilon) {
  const float mean = sum_of_squares(row, hidden) / static_cast<float>(hidden);
  const float scale = 1.0F / std::sqrt(mean + epsilon);
  const T* sum = row.residual == nullptr ? row.input : row.residual_out;
  for (std::size_t i = 0; i < hidden; ++i) {
    row.output[i] = from_float<T>(to_float(sum[i]) * scale * to_float(weight[i]));
  }
}

template <class T>
void normalise(const RmsNorm& norm) {
  const auto hidden = static_cast<std::size_t>(norm.hidden);
  const auto* input = static_cast<const T*>(norm.input);
  const auto* residual = static_cast<const T*>(norm.residual);
  auto* residual_out = static_cast<T*>(norm.residual_out);
  auto* output = static_cast<T*>(norm.output);
  for (std::size_t r = 0; r < static_cast<std::size_t>(norm.rows); ++r) {
    const std::size_t start = r * hidden;
    const Row<T> row{.input = input + start,
                     .residual = residual == nullptr ? nullptr : residual + start,
                     .residual_out = residual_out == nullptr ? nullptr : residual_out + start,
                     .output = output + start};
    normalise_row(row, static_cast<const T*>(norm.weight), hidden, norm.epsilon);
  }
}

}  // namespace

void rms_norm(const RmsNorm& norm) {
  check(norm);
  switch (norm.element) {
    case Element::fp32:
      return normalise<float>(norm);
    case Element::fp16:
      return normalise<Fp16>(norm);
    case Element::bf16:
      return normalise<Bf16>(norm);
    case Element::fp8_e4m3:
    case Element::int8:
      return;  // check() refuses them
  }
}

}  // namespace roofcast::kernels::cpu
