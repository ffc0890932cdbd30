// Activations: an exponential, a division and a few operations per element; memory-bound for many
// rows, because the loop over a row vectorises.
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/token_operators.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

[[gnu::always_inline]] inline float silu(float x) { return x / (1 + exponential(-x)); }

/// x / 2 (1 + tanh(u)) = x / (1 + exp(-2 u)).
[[gnu::always_inline]] inline float gelu(float x) {
  constexpr float kTwiceRoot = 1.59576912F;  // 2 sqrt(2 / pi)
  const float u2 = kTwiceRoot * (x + 0.044715F * x * x * x);
  return x / (1 + exponential(-u2));
}

template <class T>
ROOFCAST_CLONES void silu_mul_row(const T* input, T* output, int width) {
  for (int i = 0; i < width; ++i) {
    output[i] = from_float<T>(silu(to_float(input[i])) * to_float(input[width + i]));
  }
}

template <class T>
ROOFCAST_CLONES void gelu_mul_row(const T* input, T* output, int width) {
  for (int i = 0; i < width; ++i) {
    output[i] = from_float<T>(gelu(to_float(input[i])) * to_float(input[width + i]));
  }
}

template <class T>
ROOFCAST_CLONES void gelu_row(const T* input, T* output, int width) {
  for (int i = 0; i < width; ++i) output[i] = from_float<T>(gelu(to_float(input[i])));
}

}  // namespace

void activation(const Activation& activation, Range rows) {
  const int width = activation.width;
  with_plain(activation.element, [&]<class T>(T) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const auto* input = static_cast<const T*>(activation.input);
      T* output = static_cast<T*>(activation.output) + r * width;
      switch (activation.kind) {
        case ActivationKind::silu_mul:
          silu_mul_row(input + r * 2 * width, output, width);
          break;
        case ActivationKind::gelu_mul:
          gelu_mul_row(input + r * 2 * width, output, width);
          break;
        case ActivationKind::gelu:
          gelu_row(input + r * width, output, width);
          break;
      }
    }
  });
}

}  // namespace roofcast::kernels::cpu
