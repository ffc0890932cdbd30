// Our CUDA attention kernels on the host (emulated_cta.hpp): contracts with host pointers, run as
// the launchers in kernels/cuda would launch them.
#pragma once

#include "kernels/attention.hpp"
#include "kernels/cuda/attention_arguments.hpp"
#include "kernels/cuda/attention_decode_cta.hpp"
#include "kernels/cuda/attention_latent_cta.hpp"
#include "kernels/cuda/attention_parts.hpp"
#include "tests/kernels/cuda/emulated_cta.hpp"

namespace roofcast::kernels::test {

template <class T>
void emulate_join(const cuda::Parts& parts, float scale, void* output, std::int64_t rows, int ctas,
                  std::uint32_t seed) {
  const cuda::JoinArguments join{.parts = parts, .scale = scale, .output = output};
  emulate({.ctas = static_cast<int>(rows),
           .threads = cuda::kJoinThreads,
           .shared_bytes = cuda::join_shared_bytes(ctas),
           .seed = seed},
          [&] { cuda::join_parts<T>(join); });
}

template <class T, class Cache, int kHeadDim>
void emulate_decode_tile(const DecodeAttention& attention, int ctas, std::uint32_t seed) {
  using Tile = cuda::DecodeTile<T, Cache, kHeadDim>;
  const cuda::DecodeLaunch launch = cuda::decode_launch(attention, ctas);
  emulate({.ctas = launch.ctas,
           .threads = Tile::kThreads,
           .shared_bytes = Tile::kSharedBytes,
           .seed = seed},
          [&] { cuda::decode_attention<T, Cache, kHeadDim>(launch.arguments); });
  if (!launch.parts) return;
  emulate_join<T>(launch.arguments.parts, launch.arguments.value_scale, attention.output,
                  std::int64_t{attention.sequences} * attention.query_heads, launch.ctas, seed + 1);
}

template <class T, class Cache>
void emulate_decode_head(const DecodeAttention& attention, int ctas, std::uint32_t seed) {
  switch (attention.cache.head_dim) {
    case 64:
      return emulate_decode_tile<T, Cache, 64>(attention, ctas, seed);
    case 128:
      return emulate_decode_tile<T, Cache, 128>(attention, ctas, seed);
    default:
      return emulate_decode_tile<T, Cache, 256>(attention, ctas, seed);
  }
}

/// `ctas`: number of CTAs that the device would run at once.
inline void emulate_decode(const DecodeAttention& attention, int ctas, std::uint32_t seed) {
  const bool eight_bits = attention.cache.element == Element::fp8_e4m3;
  if (attention.element == Element::bf16) {
    return eight_bits ? emulate_decode_head<Bf16, Fp8E4M3>(attention, ctas, seed)
                      : emulate_decode_head<Bf16, Bf16>(attention, ctas, seed);
  }
  eight_bits ? emulate_decode_head<Fp16, Fp8E4M3>(attention, ctas, seed)
             : emulate_decode_head<Fp16, Fp16>(attention, ctas, seed);
}

template <class T, class Cache, int kHeadDim>
void emulate_prefill_tile(const PrefillAttention& attention, std::uint32_t seed) {
  using Tile = cuda::PrefillTile<T, Cache, kHeadDim>;
  const cuda::PrefillArguments arguments = cuda::prefill_arguments(attention, Tile::kRows);
  emulate({.ctas = arguments.max_tiles * arguments.kv_heads,
           .threads = Tile::kThreads,
           .shared_bytes = Tile::kSharedBytes,
           .seed = seed},
          [&] { cuda::prefill_attention<T, Cache, kHeadDim>(arguments); });
}

template <class T, class Cache>
void emulate_prefill_head(const PrefillAttention& attention, std::uint32_t seed) {
  switch (attention.cache.head_dim) {
    case 64:
      return emulate_prefill_tile<T, Cache, 64>(attention, seed);
    case 128:
      return emulate_prefill_tile<T, Cache, 128>(attention, seed);
    default:
      return emulate_prefill_tile<T, Cache, 256>(attention, seed);
  }
}

inline void emulate_prefill(const PrefillAttention& attention, std::uint32_t seed) {
  const bool eight_bits = attention.cache.element == Element::fp8_e4m3;
  if (attention.element == Element::bf16) {
    return eight_bits ? emulate_prefill_head<Bf16, Fp8E4M3>(attention, seed)
                      : emulate_prefill_head<Bf16, Bf16>(attention, seed);
  }
  eight_bits ? emulate_prefill_head<Fp16, Fp8E4M3>(attention, seed)
             : emulate_prefill_head<Fp16, Fp16>(attention, seed);
}

template <class T, class Tile>
void emulate_latent_tile(const LatentDecode& attention, int ctas, std::uint32_t seed) {
  const cuda::LatentLaunch launch = cuda::latent_launch(attention, Tile::kRows, ctas);
  emulate({.ctas = launch.ctas,
           .threads = Tile::kThreads,
           .shared_bytes = Tile::kSharedBytes,
           .seed = seed},
          [&] { cuda::latent_decode<T, Tile>(launch.arguments); });
  if (!launch.parts) return;
  emulate_join<T>(launch.arguments.parts, 1, attention.output,
                  std::int64_t{attention.sequences} * attention.query_heads, launch.ctas, seed + 1);
}

/// The choice of launch_latent_decode() on devices with room for this number of stages.
template <class T, int kStages>
void emulate_latent_heads(const LatentDecode& attention, int ctas, std::uint32_t seed) {
  constexpr int kMaxHeadTiles = kStages == 4 ? 4 : 2;
  switch (cuda::latent_head_tiles(attention.query_heads)) {
    case 1:
      return emulate_latent_tile<T, cuda::LatentTile<1, kStages>>(attention, ctas, seed);
    case 2:
      return emulate_latent_tile<T, cuda::LatentTile<2, kStages>>(attention, ctas, seed);
    default:
      return emulate_latent_tile<T, cuda::LatentTile<kMaxHeadTiles, kStages>>(attention, ctas,
                                                                              seed);
  }
}

template <int kStages>
void emulate_latent(const LatentDecode& attention, int ctas, std::uint32_t seed) {
  if (attention.element == Element::bf16) {
    return emulate_latent_heads<Bf16, kStages>(attention, ctas, seed);
  }
  emulate_latent_heads<Fp16, kStages>(attention, ctas, seed);
}

}  // namespace roofcast::kernels::test
