// Prefill attention over a paged cache, causal and ragged: for each new token and query head,
//   output = softmax(scale * query K^T) V   over the visible tokens (kernels/attention.hpp).
//
// Shapes: query, output [tokens, query_heads, head_dim]; keys, values [pages, page_size, kv_heads,
// head_dim]. FLOPs: 4 head_dim query_heads per pair of query and visible token; with tiles of 128
// (64 for head dim 256) rows and 64 tokens, half a tile's width along the mask's edge is wasted.
// Bytes: queries and outputs once, keys and values once per tile of rows, mostly from L2. Long
// prompts are bound by the tensor cores through mma.sync.
//
// Launch: one CTA per tile of rows and KV head. The device determines which sequence a tile belongs
// to, so an uneven batch has at most one empty tile per sequence. The work of one CTA:
// attention_prefill_cta.hpp.
#include "kernels/cuda/attention_prefill_cta.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include "kernels/check.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_arguments.hpp"
#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {
namespace {

template <class T, class Cache, int kHeadDim>
__global__ void __launch_bounds__(PrefillTile<T, Cache, kHeadDim>::kThreads,
                                  PrefillTile<T, Cache, kHeadDim>::kCtasPerSm)
    prefill_kernel(const __grid_constant__ PrefillArguments prefill) {
  prefill_attention<T, Cache, kHeadDim>(prefill);
}

template <class T, class Cache, int kHeadDim>
void launch(const PrefillAttention& attention, cudaStream_t stream) {
  using Tile = PrefillTile<T, Cache, kHeadDim>;
  auto* kernel = prefill_kernel<T, Cache, kHeadDim>;
  ROOFCAST_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(Tile::kSharedBytes)));
  const PrefillArguments arguments = prefill_arguments(attention, Tile::kRows);
  const auto ctas = static_cast<unsigned>(arguments.max_tiles * arguments.kv_heads);
  kernel<<<ctas, Tile::kThreads, Tile::kSharedBytes, stream>>>(arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

template <class T, class Cache>
void launch_for_head(const PrefillAttention& attention, cudaStream_t stream) {
  if (attention.cache.head_dim == 64) return launch<T, Cache, 64>(attention, stream);
  if (attention.cache.head_dim == 128) return launch<T, Cache, 128>(attention, stream);
  launch<T, Cache, 256>(attention, stream);
}

}  // namespace

bool supports_prefill_attention(const PrefillAttention& attention) {
  // Rows and CTAs are counted in 32 bits.
  constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max() / 2;
  return takes(attention.element, attention.cache) &&
         attention.tokens * attention.query_heads <= kMaxRows;
}

void launch_prefill_attention(const PrefillAttention& attention, CUstream_st* stream) {
  check(attention);
  require(supports_prefill_attention(attention), "prefill attention",
          "Roofcast's CUDA kernel supports bf16 or fp16, a cache of the same format or fp8, head "
          "dim 64, 128 or 256, and up to 2^30 rows of tokens and heads");
  if (attention.sequences == 0 || attention.tokens == 0) return;
  const bool eight_bits = attention.cache.element == Element::fp8_e4m3;
  if (attention.element == Element::bf16) {
    return eight_bits ? launch_for_head<Bf16, Fp8E4M3>(attention, stream)
                      : launch_for_head<Bf16, Bf16>(attention, stream);
  }
  eight_bits ? launch_for_head<Fp16, Fp8E4M3>(attention, stream)
             : launch_for_head<Fp16, Fp16>(attention, stream);
}

}  // namespace roofcast::kernels::cuda
