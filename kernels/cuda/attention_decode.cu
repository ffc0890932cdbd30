// Decode attention over a paged cache: for each sequence and query head,
//   output = softmax(scale * query K^T) V   over the visible tokens (kernels/attention.hpp).
//
// Shapes: query, output [sequences, query_heads, head_dim]; keys, values [pages, page_size,
// kv_heads, head_dim]. FLOPs: 4 head_dim query_heads per visible token, computed on 16 rows per KV
// head for any group size. Bytes: keys and values once per 16 query heads of a KV head.
// Memory-bound at 16 to 64 FLOP per byte.
//
// Launch: as many CTAs as the device holds at once, each with an equal share of all tokens ("split
// KV"). A second kernel merges rows that several CTAs worked on; it is set up while the first runs
// (programmatic dependent launch, sm_90). The work of one CTA: attention_decode_cta.hpp.
#include "kernels/cuda/attention_decode_cta.hpp"

#include <cuda_runtime.h>

#include "kernels/check.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_arguments.hpp"
#include "kernels/cuda/attention_join.cuh"
#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {
namespace {

template <class T, class Cache, int kHeadDim>
__global__ void __launch_bounds__(DecodeTile<T, Cache, kHeadDim>::kThreads,
                                  DecodeTile<T, Cache, kHeadDim>::kCtasPerSm)
    decode_kernel(const __grid_constant__ DecodeArguments decode) {
  decode_attention<T, Cache, kHeadDim>(decode);
}

template <class T, class Cache, int kHeadDim>
void launch(const DecodeAttention& attention, int multiprocessors, cudaStream_t stream) {
  using Tile = DecodeTile<T, Cache, kHeadDim>;
  auto* kernel = decode_kernel<T, Cache, kHeadDim>;
  ROOFCAST_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(Tile::kSharedBytes)));
  const DecodeLaunch decode = decode_launch(attention, multiprocessors * Tile::kCtasPerSm);
  kernel<<<static_cast<unsigned>(decode.ctas), Tile::kThreads, Tile::kSharedBytes, stream>>>(
      decode.arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
  if (!decode.parts) return;
  launch_join<T>({.parts = decode.arguments.parts,
                  .scale = decode.arguments.value_scale,
                  .output = attention.output},
                 std::int64_t{attention.sequences} * attention.query_heads, decode.ctas, stream);
}

template <class T, class Cache>
void launch_for_head(const DecodeAttention& attention, int multiprocessors, cudaStream_t stream) {
  if (attention.cache.head_dim == 64) {
    return launch<T, Cache, 64>(attention, multiprocessors, stream);
  }
  if (attention.cache.head_dim == 128) {
    return launch<T, Cache, 128>(attention, multiprocessors, stream);
  }
  launch<T, Cache, 256>(attention, multiprocessors, stream);
}

}  // namespace

bool supports_decode_attention(const DecodeAttention& attention) {
  return takes(attention.element, attention.cache);
}

void launch_decode_attention(const DecodeAttention& attention, int multiprocessors,
                             CUstream_st* stream) {
  check(attention);
  require(supports_decode_attention(attention), "decode attention",
          "Roofcast's CUDA kernel supports bf16 or fp16, a cache of the same format or fp8, head "
          "dim 64, 128 or 256");
  require(multiprocessors > 0, "decode attention", "multiprocessors > 0");
  if (attention.sequences == 0) return;
  const bool eight_bits = attention.cache.element == Element::fp8_e4m3;
  if (attention.element == Element::bf16) {
    return eight_bits ? launch_for_head<Bf16, Fp8E4M3>(attention, multiprocessors, stream)
                      : launch_for_head<Bf16, Bf16>(attention, multiprocessors, stream);
  }
  eight_bits ? launch_for_head<Fp16, Fp8E4M3>(attention, multiprocessors, stream)
             : launch_for_head<Fp16, Fp16>(attention, multiprocessors, stream);
}

}  // namespace roofcast::kernels::cuda
