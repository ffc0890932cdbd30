// RMSNorm with residual: sum = input + residual; output = sum / sqrt(mean(sum^2) + epsilon) *
// weight.
//
// Shapes: input, residual, residual_out, output [rows, hidden]; weight [hidden]; row-major, one
// element type (fp32, fp16, bf16). FLOPs: 5 rows hidden. Bytes: 4 rows hidden elements and the
// weight (2 rows hidden without a residual). Memory-bound at 1 to 2 FLOP per byte, or launch-bound
// with few rows.
//
// Launch: one CTA per row, so that a row's sum needs no second kernel. Each thread keeps its part
// of the row in registers between the two phases: every element is read once and written once, in
// vectors of 16 bytes. Accumulates in fp32.
#include "kernels/cuda/rms_norm.hpp"

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreadsWanted = 256;  // enough to hide latency, several CTAs per SM
constexpr int kMaxVectors = 8;       // per thread: 32 fp32 or 64 16-bit values in registers

/// RmsNorm with typed pointers, as passed to the device. Only the weight is __restrict__: the
/// contract lets the outputs overwrite input and residual.
template <class T>
struct Arguments {
  const Vector<T>* input;                // [rows, vectors]
  const Vector<T>* residual;             // [rows, vectors], or null
  const Vector<T>* __restrict__ weight;  // [vectors]
  Vector<T>* residual_out;               // [rows, vectors], or null
  Vector<T>* output;                     // [rows, vectors]
  int vectors;                           // per row
  float hidden;
  float epsilon;
};

template <class T>
__device__ Vector<T> add(const Vector<T>& a, const Vector<T>& b) {
  Vector<T> sum;
#pragma unroll
  for (int i = 0; i < kLanes<T>; ++i) sum.lane[i] = narrow<T>(widen(a.lane[i]) + widen(b.lane[i]));
  return sum;
}

/// Threads of the largest CTA that launch_for creates: kThreadsWanted, except for the widest rows.
template <class T, int kVectors>
constexpr int kThreadBound = kVectors < kMaxVectors ? kThreadsWanted
                                                    : kMaxHidden / (kVectors * kLanes<T>);

/// kVectors: vectors per thread; kVectors * blockDim.x covers the row.
template <class T, int kVectors>
__global__ void __launch_bounds__(kThreadBound<T, kVectors>)
    rms_norm_kernel(const Arguments<T> norm) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * norm.vectors;
  Vector<T> held[kVectors];

  // Read the row, add the residual and store the sum.
  float squares = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
    if (column >= norm.vectors) continue;
    held[v] = norm.input[row + column];
    if (norm.residual != nullptr) {
      held[v] = add(held[v], norm.residual[row + column]);
      norm.residual_out[row + column] = held[v];
    }
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      const float value = widen(held[v].lane[i]);
      squares = fmaf(value, value, squares);
    }
  }

  // Scale the values in registers.
  const float scale = rsqrtf(block_sum(squares) / norm.hidden + norm.epsilon);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
    if (column >= norm.vectors) continue;
    const Vector<T> weight = norm.weight[column];
    Vector<T> output;
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      output.lane[i] = narrow<T>(widen(held[v].lane[i]) * scale * widen(weight.lane[i]));
    }
    norm.output[row + column] = output;
  }
}

template <class T, int kVectors>
void launch(const Arguments<T>& arguments, std::int64_t rows, cudaStream_t stream) {
  const int needed = (arguments.vectors + kVectors - 1) / kVectors;
  const int threads = (needed + kWarp - 1) / kWarp * kWarp;
  rms_norm_kernel<T, kVectors>
      <<<static_cast<unsigned>(rows), static_cast<unsigned>(threads), 0, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

/// The fewest vectors per thread that keep the CTA near kThreadsWanted.
template <class T>
void launch_for(const RmsNorm& norm, cudaStream_t stream) {
  const Arguments<T> arguments{.input = static_cast<const Vector<T>*>(norm.input),
                               .residual = static_cast<const Vector<T>*>(norm.residual),
                               .weight = static_cast<const Vector<T>*>(norm.weight),
                               .residual_out = static_cast<Vector<T>*>(norm.residual_out),
                               .output = static_cast<Vector<T>*>(norm.output),
                               .vectors = norm.hidden / kLanes<T>,
                               .hidden = static_cast<float>(norm.hidden),
                               .epsilon = norm.epsilon};
  if (arguments.vectors <= kThreadsWanted) return launch<T, 1>(arguments, norm.rows, stream);
  if (arguments.vectors <= 2 * kThreadsWanted) return launch<T, 2>(arguments, norm.rows, stream);
  if (arguments.vectors <= 4 * kThreadsWanted) return launch<T, 4>(arguments, norm.rows, stream);
  launch<T, kMaxVectors>(arguments, norm.rows, stream);
}

static_assert(kThreadBound<float, kMaxVectors> <= kMaxThreads);

}  // namespace

void launch_rms_norm(const RmsNorm& norm, CUstream_st* stream) {
  check(norm);
  if (norm.rows == 0) return;
  for_plain_element(norm.element, [&](auto type) { launch_for<decltype(type)>(norm, stream); });
}

}  // namespace roofcast::kernels::cuda
