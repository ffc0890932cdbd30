// Products with a 4-bit weight, for few tokens: weights are widened to 16 bits in registers, on
// their way from memory to the tensor cores.
//   output[m, n] = sum_k input[m, k] (nibble[n, k] - 8) scale[n, k / group]
//
// Shapes: input [m, k]; weight [n, k / 2], even k in the low nibble; scale [n, k / group]; output
// [m, n]. FLOPs: 2 m n k. Bytes: n k / 2 and the scales, read once per tile of tokens. Bound by
// these bytes up to about 16 tokens, then by shared memory and tensor cores.
//
// The weight is the left operand of mma.sync (16 outputs), the tokens are the right one (8 at a
// time). The order of k within a sum is free, so a lane takes 8 neighbouring k, one 32-bit word of
// nibbles, where the instruction's layout has pairs: in word w the pairs (k, k + 4) are 16 bits
// apart and are extracted together. The sums of one group, exact weights times inputs, are scaled
// in fp32.
//
// Launch: one CTA per tile of outputs and tokens. Warps divide the outputs or the k of a tile;
// cp.async brings slices of 128 of k per warp to shared memory, several slices ahead.
#include <algorithm>
#include <type_traits>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/tensor_core.cuh"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kSlice = 128;                   // of k that a warp processes at a time
constexpr int kWordValues = 8;                // nibbles per 32-bit word
constexpr int kQuadValues = 4 * kWordValues;  // of k that four lanes process at a time
constexpr int kWeightChunks = kSlice / 32;    // 16-byte chunks of a weight row per slice
constexpr int kInputChunks = kSlice / 8;      // of an input row
constexpr int kWeightRowBytes = kWeightChunks * 16;
constexpr int kInputRowBytes = kInputChunks * 16;

/// A CTA's outputs and tokens, how its warps share them, and the slices in flight.
template <int kRowBlocksIn, int kTokenBlocksIn, int kOutputWarpsIn, int kDepthWarpsIn,
          int kStagesIn>
struct Tile {
  static constexpr int kRowBlocks = kRowBlocksIn;      // 16 outputs each, per warp
  static constexpr int kTokenBlocks = kTokenBlocksIn;  // 8 tokens each
  static constexpr int kOutputWarps = kOutputWarpsIn;
  static constexpr int kDepthWarps = kDepthWarpsIn;  // warps that share the k of an output
  static constexpr int kStages = kStagesIn;
  static constexpr int kThreads = kOutputWarps * kDepthWarps * kWarp;
  static constexpr int kWarpOutputs = kRowBlocks * 16;
  static constexpr int kOutputs = kOutputWarps * kWarpOutputs;
  static constexpr int kTokens = kTokenBlocks * 8;
  static constexpr int kSliceBytes = kOutputs * kWeightRowBytes + kTokens * kInputRowBytes;
  static constexpr int kStageBytes = kDepthWarps * kSliceBytes;
  /// Final sums of the warps: 4 more floats per token keep the lanes in different banks.
  static constexpr int kSumRow = kOutputs + 4;
  static constexpr int kSumBytes = kDepthWarps * kTokens * kSumRow * 4;
  static constexpr int kSharedBytes = std::max(kStages * kStageBytes, kSumBytes);
  static_assert(kSharedBytes <= 96 * 1024);
};
using NarrowGemv = Tile<1, 1, 1, 4, 4>;  // 16 outputs, up to 8 tokens
using Gemv = Tile<2, 1, 1, 4, 4>;        // 32 outputs, up to 8 tokens
using FewTokens = Tile<2, 2, 1, 4, 3>;   // 32 outputs, up to 16 tokens
using ManyTokens = Tile<2, 4, 4, 1, 4>;  // 128 outputs, 32 tokens

template <class T>
struct Arguments {
  const T* __restrict__ input;              // [m, k]
  const std::uint8_t* __restrict__ weight;  // [n, k / 2]
  const T* __restrict__ scale;              // [n, k / group]
  T* __restrict__ output;                   // [m, n]
  std::int32_t m;
  int n;
  int k;
  int token_tiles;
};

/// The lane's part of a warp, and the warp's part of the tile.
struct Lane {
  int row;   // of 8: "g" of mma()
  int quad;  // of 4: "t"
  int output_warp;
  int depth_warp;
};

template <class TileShape>
__device__ Lane this_lane() {
  const auto lane = static_cast<int>(threadIdx.x % kWarp);
  const auto warp = static_cast<int>(threadIdx.x / kWarp);
  return {lane / 4, lane % 4, warp / TileShape::kDepthWarps, warp % TileShape::kDepthWarps};
}

/// Positions of 16-byte chunks in a slice without bank conflicts for the copies or the reading
/// lanes: 8 weight rows of 64 bytes by words, 8 input rows of 256 bytes by 16 bytes.
__device__ int weight_place(int row, int chunk) {
  return row * kWeightRowBytes + (chunk ^ (row / 2 % 4)) * 16;
}
__device__ int input_place(int row, int chunk) {
  return row * kInputRowBytes + (chunk ^ (row % 2 * 4)) * 16;
}

/// Starts copying the slices of all depth warps, starting at k_begin. Outputs, tokens and k beyond
/// the matrices are filled with zeros.
template <class TileShape, class T>
__device__ void copy_slices(char* stage, const Arguments<T>& gemm, int output, int token,
                            int k_begin) {
  constexpr int kWeightsOfRow = TileShape::kDepthWarps * kWeightChunks;
  constexpr int kInputsOfRow = TileShape::kDepthWarps * kInputChunks;
  constexpr int kInputsBegin = TileShape::kOutputs * kWeightRowBytes;
  const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = thread; i < TileShape::kOutputs * kWeightsOfRow; i += TileShape::kThreads) {
    const int row = i / kWeightsOfRow;
    const int chunk = i % kWeightsOfRow;
    const int k = k_begin + chunk * 32;
    const bool given = output + row < gemm.n && k < gemm.k;
    const std::uint8_t* from =
        gemm.weight + (given ? (static_cast<std::int64_t>(output + row) * gemm.k + k) / 2 : 0);
    char* slice = stage + chunk / kWeightChunks * TileShape::kSliceBytes;
    copy_async(slice + weight_place(row, chunk % kWeightChunks), from, given);
  }
#pragma unroll
  for (int i = thread; i < TileShape::kTokens * kInputsOfRow; i += TileShape::kThreads) {
    const int row = i / kInputsOfRow;
    const int chunk = i % kInputsOfRow;
    const int k = k_begin + chunk * 8;
    const bool given = token + row < gemm.m && k < gemm.k;
    const T* from = gemm.input + (given ? static_cast<std::int64_t>(token + row) * gemm.k + k : 0);
    char* slice = stage + chunk / kInputChunks * TileShape::kSliceBytes + kInputsBegin;
    copy_async(slice + input_place(row, chunk % kInputChunks), from, given);
  }
}

/// Scales of a lane's outputs (rows g and g + 8 of each block) for the groups of a slice.
template <class TileShape, int kGroup>
struct Scales {
  float at[kSlice / kGroup][TileShape::kRowBlocks][2];
};

template <class TileShape, int kGroup, class T>
__device__ Scales<TileShape, kGroup> load_scales(const Arguments<T>& gemm, int output, int k) {
  const int groups = gemm.k / kGroup;
  Scales<TileShape, kGroup> scales;
#pragma unroll
  for (int q = 0; q < kSlice / kGroup; ++q) {
#pragma unroll
    for (int i = 0; i < 2 * TileShape::kRowBlocks; ++i) {
      const int row = output + i * 8;
      const int group = k / kGroup + q;
      const bool given = row < gemm.n && group < groups;
      const std::int64_t at = static_cast<std::int64_t>(row) * groups + group;
      scales.at[q][i / 2][i % 2] = given ? widen(gemm.scale[at]) : 0.0F;
    }
  }
  return scales;
}

/// nibble - 8 in 16 bits. pairs[i] holds the nibbles i (low half) and i + 4: the nibble becomes the
/// lowest bits of a number with step 1, from which that number and 8 are subtracted exactly.
template <class T>
__device__ void widen_nibbles(std::uint32_t word, std::uint32_t (&pairs)[4]) {
  using Two = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
  constexpr std::uint32_t kBase = std::is_same_v<T, __half> ? 0x64006400U : 0x43004300U;
  constexpr std::uint32_t kZero = kBase + 0x00080008U;  // 1024 + 8 and 128 + 8
  static_assert(sizeof(Two) == sizeof(word));
  Two zero;
  memcpy(&zero, &kZero, sizeof zero);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t bits = (word >> (4 * i) & 0x000f000fU) | kBase;
    Two two;
    memcpy(&two, &bits, sizeof two);
    two = __hsub2(two, zero);
    memcpy(&pairs[i], &two, sizeof two);
  }
}

/// Eight inputs as the right operands of two steps, paired like the nibbles.
__device__ void pair_inputs(const uint4& eight, std::uint32_t (&pairs)[4]) {
  constexpr unsigned kLowHalves = 0x5410;
  constexpr unsigned kHighHalves = 0x7632;
  pairs[0] = __byte_perm(eight.x, eight.z, kLowHalves);
  pairs[1] = __byte_perm(eight.x, eight.z, kHighHalves);
  pairs[2] = __byte_perm(eight.y, eight.w, kLowHalves);
  pairs[3] = __byte_perm(eight.y, eight.w, kHighHalves);
}

/// A warp's outputs and tokens, in the layout of mma().
template <class TileShape>
struct Sums {
  float at[TileShape::kRowBlocks][TileShape::kTokenBlocks][4];
};

/// Adds one step of 32 of k: two mma per block of outputs and tokens.
template <class T, class TileShape>
__device__ void multiply_quad(const char* slice, const Lane& lane, int quad,
                              Sums<TileShape>& sums) {
  const char* inputs = slice + TileShape::kOutputs * kWeightRowBytes;
  std::uint32_t b[TileShape::kTokenBlocks][4];
#pragma unroll
  for (int j = 0; j < TileShape::kTokenBlocks; ++j) {
    const int place = input_place(j * 8 + lane.row, quad * 4 + lane.quad);
    pair_inputs(*reinterpret_cast<const uint4*>(inputs + place), b[j]);
  }
#pragma unroll
  for (int i = 0; i < TileShape::kRowBlocks; ++i) {
    std::uint32_t a[2][4];  // rows g and g + 8
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane.output_warp * TileShape::kWarpOutputs + i * 16 + half * 8 + lane.row;
      const char* word = slice + weight_place(row, quad) + lane.quad * 4;
      widen_nibbles<T>(*reinterpret_cast<const std::uint32_t*>(word), a[half]);
    }
    const std::uint32_t first[4] = {a[0][0], a[1][0], a[0][1], a[1][1]};
    const std::uint32_t second[4] = {a[0][2], a[1][2], a[0][3], a[1][3]};
#pragma unroll
    for (int j = 0; j < TileShape::kTokenBlocks; ++j) {
      mma<T>(sums.at[i][j], first, b[j][0], b[j][1]);
      mma<T>(sums.at[i][j], second, b[j][2], b[j][3]);
    }
  }
}

/// Adds one slice: each group's sum times its scale.
template <class T, int kGroup, class TileShape>
__device__ void multiply_slice(const char* slice, const Lane& lane,
                               const Scales<TileShape, kGroup>& scales, Sums<TileShape>& sums) {
#pragma unroll
  for (int q = 0; q < kSlice / kGroup; ++q) {
    Sums<TileShape> of_group{};
#pragma unroll
    for (int quad = 0; quad < kGroup / kQuadValues; ++quad) {
      multiply_quad<T>(slice, lane, q * (kGroup / kQuadValues) + quad, of_group);
    }
#pragma unroll
    for (int i = 0; i < TileShape::kRowBlocks; ++i) {
#pragma unroll
      for (int at = 0; at < 4 * TileShape::kTokenBlocks; ++at) {
        float& sum = sums.at[i][at / 4][at % 4];
        sum = fmaf(scales.at[q][i][at % 4 / 2], of_group.at[i][at / 4][at % 4], sum);
      }
    }
  }
}

/// Sums the depth warps' parts in order and stores them; all threads must call it.
template <class TileShape, class T>
__device__ void store(float* parts, const Arguments<T>& gemm, const Lane& lane,
                      const Sums<TileShape>& sums, int output, int token) {
  constexpr int kPart = TileShape::kTokens * TileShape::kSumRow;
#pragma unroll
  for (int i = 0; i < TileShape::kRowBlocks; ++i) {
#pragma unroll
    for (int at = 0; at < 4 * TileShape::kTokenBlocks; ++at) {
      const int row =
          lane.output_warp * TileShape::kWarpOutputs + i * 16 + at % 4 / 2 * 8 + lane.row;
      const int column = at / 4 * 8 + lane.quad * 2 + at % 2;
      parts[lane.depth_warp * kPart + column * TileShape::kSumRow + row] =
          sums.at[i][at / 4][at % 4];
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < TileShape::kOutputs * TileShape::kTokens;
       i += TileShape::kThreads) {
    const int row = i % TileShape::kOutputs;
    const int column = i / TileShape::kOutputs;
    if (output + row >= gemm.n || token + column >= gemm.m) continue;
    float sum = 0;
#pragma unroll
    for (int part = 0; part < TileShape::kDepthWarps; ++part) {
      sum += parts[part * kPart + column * TileShape::kSumRow + row];
    }
    gemm.output[static_cast<std::int64_t>(token + column) * gemm.n + output + row] = narrow<T>(sum);
  }
}

template <class TileShape, int kGroup, class T>
__global__ void __launch_bounds__(TileShape::kThreads) int4_gemm_kernel(const Arguments<T> gemm) {
  constexpr int kDepth = TileShape::kDepthWarps * kSlice;  // of k per stage
  extern __shared__ uint4 shared[];
  auto* stages = reinterpret_cast<char*>(shared);
  const Lane lane = this_lane<TileShape>();
  // Neighbouring CTAs have other tokens of the same outputs, so that they share weights in L2.
  const auto block = static_cast<int>(blockIdx.x);
  const int output = block / gemm.token_tiles * TileShape::kOutputs;
  const int token = block % gemm.token_tiles * TileShape::kTokens;
  const int own_output = output + lane.output_warp * TileShape::kWarpOutputs + lane.row;
  const int own_k = lane.depth_warp * kSlice;
  const int rounds = (gemm.k + kDepth - 1) / kDepth;

  // One group of copies per round, even if empty, so that a fixed number is pending.
  const auto start_round = [&](int round) {
    char* stage = stages + round % TileShape::kStages * TileShape::kStageBytes;
    if (round < rounds) copy_slices<TileShape>(stage, gemm, output, token, round * kDepth);
    commit_copies();
  };
#pragma unroll
  for (int round = 0; round < TileShape::kStages - 1; ++round) start_round(round);
  auto scales = load_scales<TileShape, kGroup>(gemm, own_output, own_k);

  Sums<TileShape> sums{};
  for (int round = 0; round < rounds; ++round) {
    wait_copies<TileShape::kStages - 2>();
    __syncthreads();  // this round has arrived, and the previous one has been read, for all
    start_round(round + TileShape::kStages - 1);
    const auto next =
        load_scales<TileShape, kGroup>(gemm, own_output, (round + 1) * kDepth + own_k);
    const char* stage = stages + round % TileShape::kStages * TileShape::kStageBytes;
    multiply_slice<T, kGroup>(stage + lane.depth_warp * TileShape::kSliceBytes, lane, scales, sums);
    scales = next;
  }
  __syncthreads();  // all slices have been read; the sums replace them
  store<TileShape>(reinterpret_cast<float*>(shared), gemm, lane, sums, output, token);
}

// ---- launching

template <class TileShape, int kGroup, class T>
void launch(const Int4Gemm& gemm, cudaStream_t stream) {
  const std::int64_t token_tiles = ceil_divide(gemm.m, TileShape::kTokens);
  const std::int64_t blocks = token_tiles * ceil_divide(gemm.n, TileShape::kOutputs);
  require(blocks <= kMaxRows, "int4 GEMM", "the output must be at most 2^31 - 1 tiles");
  const Arguments<T> arguments{.input = static_cast<const T*>(gemm.input),
                               .weight = gemm.weight,
                               .scale = static_cast<const T*>(gemm.scale),
                               .output = static_cast<T*>(gemm.output),
                               .m = static_cast<std::int32_t>(gemm.m),
                               .n = gemm.n,
                               .k = gemm.k,
                               .token_tiles = static_cast<int>(token_tiles)};
  const auto kernel = int4_gemm_kernel<TileShape, kGroup, T>;
  ROOFCAST_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           TileShape::kSharedBytes));
  kernel<<<static_cast<unsigned>(blocks), TileShape::kThreads, TileShape::kSharedBytes, stream>>>(
      arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

/// Uses wide tiles if there are enough of them to give every SM a few.
template <int kGroup, class T>
void launch_for_tokens(const Int4Gemm& gemm, int multiprocessors, cudaStream_t stream) {
  if (gemm.m > FewTokens::kTokens) return launch<ManyTokens, kGroup, T>(gemm, stream);
  if (gemm.m > Gemv::kTokens) return launch<FewTokens, kGroup, T>(gemm, stream);
  if (ceil_divide(gemm.n, Gemv::kOutputs) >= 4 * multiprocessors) {
    return launch<Gemv, kGroup, T>(gemm, stream);
  }
  launch<NarrowGemv, kGroup, T>(gemm, stream);
}

template <class T>
void launch_for_group(const Int4Gemm& gemm, int multiprocessors, cudaStream_t stream) {
  if (gemm.group == 32) return launch_for_tokens<32, T>(gemm, multiprocessors, stream);
  if (gemm.group == 64) return launch_for_tokens<64, T>(gemm, multiprocessors, stream);
  launch_for_tokens<128, T>(gemm, multiprocessors, stream);
}

}  // namespace

bool supports_int4_gemm(const Int4Gemm& gemm) {
  return gemm.element == Element::fp16 || gemm.element == Element::bf16;
}

void launch_int4_gemm(const Int4Gemm& gemm, int multiprocessors, CUstream_st* stream) {
  check(gemm);
  require(supports_int4_gemm(gemm), "int4 GEMM on CUDA", "the element must be fp16 or bf16");
  if (gemm.m == 0) return;
  if (gemm.element == Element::fp16) {
    return launch_for_group<__half>(gemm, multiprocessors, stream);
  }
  launch_for_group<__nv_bfloat16>(gemm, multiprocessors, stream);
}

}  // namespace roofcast::kernels::cuda
