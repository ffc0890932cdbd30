// The nonlinearity of a feed-forward block: silu(gate) * up, gelu(gate) * up, or gelu(input).
//
// Shapes: input [rows, 2 width] (gate, then up) or [rows, width]; output [rows, width]. FLOPs:
// about 10 per element. Bytes: 3 (gelu: 2) rows width elements; memory-bound.
//
// Launch: a thread computes one vector of 16 bytes; a row is divided into chunks of one CTA each,
// so that a few wide rows, as in decode, still use many SMs. Arithmetic in fp32.
#include <algorithm>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreadsWanted = 128;

/// x / (1 + exp(-x)); -0 where exp overflows.
__device__ float silu(float x) { return x / (1.0F + expf(-x)); }

/// The tanh form: x / 2 (1 + tanh u) = x / (1 + exp(-2 u)), which does not cancel for negative u.
__device__ float gelu(float x) {
  constexpr float kSqrtTwoOverPi = 0.797884561F;
  constexpr float kCubic = 0.044715F;
  const float u = kSqrtTwoOverPi * (x + kCubic * x * x * x);
  return x / (1.0F + expf(-2.0F * u));
}

/// Not __restrict__: the contract lets gelu overwrite its input.
template <class T>
struct Arguments {
  const Vector<T>* input;  // [rows, vectors] or [rows, 2 * vectors]
  Vector<T>* output;       // [rows, vectors]
  int vectors;             // of an output row
  unsigned chunks;         // CTAs per row
};

template <class T, ActivationKind kKind>
__global__ void __launch_bounds__(kThreadsWanted) activation_kernel(const Arguments<T> activation) {
  const auto row = static_cast<std::int64_t>(blockIdx.x / activation.chunks);
  const auto column = static_cast<int>(blockIdx.x % activation.chunks * blockDim.x + threadIdx.x);
  if (column >= activation.vectors) return;

  constexpr bool kProduct = kKind != ActivationKind::gelu;
  const std::int64_t input_row = row * activation.vectors * (kProduct ? 2 : 1);
  const Vector<T> gate = activation.input[input_row + column];
  Vector<T> up;
  if constexpr (kProduct) up = activation.input[input_row + activation.vectors + column];
  Vector<T> output;
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) {
    const float x = widen(gate.lane[i]);
    float y = kKind == ActivationKind::silu_mul ? silu(x) : gelu(x);
    if constexpr (kProduct) y *= widen(up.lane[i]);
    output.lane[i] = narrow<T>(y);
  }
  activation.output[row * activation.vectors + column] = output;
}

template <class T, ActivationKind kKind>
void launch(const Activation& activation, cudaStream_t stream) {
  const int vectors = activation.width / kLanes<T>;
  const auto threads = static_cast<unsigned>(
      std::min<std::int64_t>(ceil_divide(vectors, kWarp) * kWarp, kThreadsWanted));
  const std::int64_t chunks = ceil_divide(vectors, threads);
  require(activation.rows * chunks <= kMaxRows, "activation",
          "rows times CTAs a row must be at most 2^31 - 1");
  const Arguments<T> arguments{.input = static_cast<const Vector<T>*>(activation.input),
                               .output = static_cast<Vector<T>*>(activation.output),
                               .vectors = vectors,
                               .chunks = static_cast<unsigned>(chunks)};
  activation_kernel<T, kKind>
      <<<static_cast<unsigned>(activation.rows * chunks), threads, 0, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

template <class T>
void launch_kind(const Activation& activation, cudaStream_t stream) {
  switch (activation.kind) {
    case ActivationKind::silu_mul:
      return launch<T, ActivationKind::silu_mul>(activation, stream);
    case ActivationKind::gelu_mul:
      return launch<T, ActivationKind::gelu_mul>(activation, stream);
    case ActivationKind::gelu:
      return launch<T, ActivationKind::gelu>(activation, stream);
  }
}

}  // namespace

void launch_activation(const Activation& activation, CUstream_st* stream) {
  check(activation);
  if (activation.rows == 0) return;
  for_plain_element(activation.element,
                    [&](auto type) { launch_kind<decltype(type)>(activation, stream); });
}

}  // namespace roofcast::kernels::cuda
