// Decode of multi-head latent attention, absorbed form (DeepSeek-V2, arXiv 2405.04434, 2.1): for
// each sequence and query head,
//   output = softmax(scale * query K^T) K[:, :512]   over the sequence's tokens.
//
// Shapes: query [sequences, query_heads, 576]; output [sequences, query_heads, 512]; K is the cache
// [pages, page_size, 576]. FLOPs: 2 (576 + 512) query_heads per token. Bytes: the cache once per 64
// query heads. Memory-bound with 16 heads (30 FLOP per byte); with 128, bound by the tensor cores
// and by reading their operands from shared memory.
//
// Launch: one CTA per multiprocessor, each with an equal share of all tokens; then the kernel that
// merges. The work of one CTA: attention_latent_cta.hpp.
#include "kernels/cuda/attention_latent_cta.hpp"

#include <cuda_runtime.h>

#include "kernels/check.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_arguments.hpp"
#include "kernels/cuda/attention_join.cuh"
#include "kernels/cuda/cuda_check.hpp"

namespace roofcast::kernels::cuda {
namespace {

template <class T, class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    latent_kernel(const __grid_constant__ LatentArguments latent) {
  latent_decode<T, Tile>(latent);
}

/// Maximum shared memory per CTA of the current device (opt-in).
int max_shared_bytes() {
  int device = 0;
  int bytes = 0;
  ROOFCAST_CUDA_CHECK(cudaGetDevice(&device));
  ROOFCAST_CUDA_CHECK(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return bytes;
}

template <class T, class Tile>
void launch(const LatentDecode& attention, int multiprocessors, cudaStream_t stream) {
  auto* kernel = latent_kernel<T, Tile>;
  ROOFCAST_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(Tile::kSharedBytes)));
  const LatentLaunch latent = latent_launch(attention, Tile::kRows, multiprocessors);
  kernel<<<static_cast<unsigned>(latent.ctas), Tile::kThreads, Tile::kSharedBytes, stream>>>(
      latent.arguments);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
  if (!latent.parts) return;
  launch_join<T>({.parts = latent.arguments.parts, .output = attention.output},
                 std::int64_t{attention.sequences} * attention.query_heads, latent.ctas, stream);
}

/// On devices with less shared memory than an H100, uses fewer stages, or fewer heads if fewer
/// stages leave too little of 99 KiB and of 255 registers.
template <class T, int kHeadTiles>
void launch_for_device(const LatentDecode& attention, int multiprocessors, cudaStream_t stream) {
  using Deep = LatentTile<kHeadTiles, 4>;
  if (max_shared_bytes() >= static_cast<int>(Deep::kSharedBytes)) {
    return launch<T, Deep>(attention, multiprocessors, stream);
  }
  if constexpr (kHeadTiles == 4) {
    launch_for_device<T, 2>(attention, multiprocessors, stream);
  } else {
    launch<T, LatentTile<kHeadTiles, 2>>(attention, multiprocessors, stream);
  }
}

template <class T>
void launch_for_heads(const LatentDecode& attention, int multiprocessors, cudaStream_t stream) {
  switch (latent_head_tiles(attention.query_heads)) {
    case 1:
      return launch_for_device<T, 1>(attention, multiprocessors, stream);
    case 2:
      return launch_for_device<T, 2>(attention, multiprocessors, stream);
    default:
      return launch_for_device<T, 4>(attention, multiprocessors, stream);
  }
}

}  // namespace

bool supports_latent_decode(const LatentDecode& attention) { return takes(attention); }

void launch_latent_decode(const LatentDecode& attention, int multiprocessors, CUstream_st* stream) {
  check(attention);
  require(supports_latent_decode(attention), "latent decode",
          "Roofcast's CUDA kernel supports bf16 or fp16, 512 latent and 64 rotary elements");
  require(multiprocessors > 0, "latent decode", "multiprocessors > 0");
  if (attention.sequences == 0) return;
  if (attention.element == Element::bf16) {
    return launch_for_heads<Bf16>(attention, multiprocessors, stream);
  }
  launch_for_heads<Fp16>(attention, multiprocessors, stream);
}

}  // namespace roofcast::kernels::cuda
