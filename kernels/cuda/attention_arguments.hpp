// Converts the contracts of attention (kernels/attention.hpp) to our kernels' arguments and grid
// sizes. Host code without CUDA, so that the emulation's tests can use it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/cuda/attention_decode_cta.hpp"
#include "kernels/cuda/attention_latent_cta.hpp"
#include "kernels/cuda/attention_parts.hpp"
#include "kernels/cuda/attention_prefill_cta.hpp"

namespace roofcast::kernels::cuda {

/// Elements and head dims that the prefill and decode kernels support.
inline bool takes(Element element, const PagedCache& cache) {
  const bool sixteen_bits = element == Element::bf16 || element == Element::fp16;
  const bool narrow = cache.element == Element::fp8_e4m3;
  const bool head = cache.head_dim == 64 || cache.head_dim == 128 || cache.head_dim == 256;
  return sixteen_bits && head && (narrow || cache.element == element);
}

/// Places the parts of `rows` rows in a workspace of `bytes` and returns for how many CTAs it has
/// room, at most `ctas`.
inline int lay_out(Parts& parts, std::int64_t rows, int ctas, void* workspace, std::int64_t bytes) {
  const std::int64_t output_bytes = std::int64_t{4} * parts.width;
  const std::int64_t first_bytes =
      rows * (static_cast<std::int64_t>(sizeof(RowParts)) + output_bytes);
  const std::int64_t later_bytes =
      parts.item_rows * (static_cast<std::int64_t>(sizeof(PartStatistics)) + output_bytes);
  const std::int64_t places = std::max<std::int64_t>(0, (bytes - first_bytes) / later_bytes);
  const int held = static_cast<int>(std::min<std::int64_t>(ctas, places + 1));

  parts.rows = static_cast<RowParts*>(workspace);
  parts.first = reinterpret_cast<FloatPair*>(parts.rows + rows);
  parts.statistics = reinterpret_cast<PartStatistics*>(parts.first + rows * (parts.width / 2));
  parts.later = reinterpret_cast<FloatPair*>(parts.statistics +
                                             static_cast<std::int64_t>(held - 1) * parts.item_rows);
  return held;
}

/// Whether an item of at most `longest` tokens can have more than one unit.
inline bool can_be_cut(std::int64_t longest, int window) {
  const std::int64_t seen =
      window > 0 ? std::min<std::int64_t>(longest, window + kFragmentDepth - 1) : longest;
  return seen > kUnitTokens;
}

/// Elements from one query row to the next.
inline std::int64_t query_stride(std::int64_t stride, int query_heads, int head_dim) {
  return stride > 0 ? stride : std::int64_t{query_heads} * head_dim;
}

struct DecodeLaunch {
  DecodeArguments arguments{};
  int ctas = 1;
  bool parts = false;  // whether the second kernel is needed
};

/// For a grid of at most `ctas` CTAs.
inline DecodeLaunch decode_launch(const DecodeAttention& attention, int ctas) {
  const PagedCache& cache = attention.cache;
  const int group = attention.query_heads / cache.kv_heads;
  DecodeArguments arguments{
      .query = attention.query,
      .query_stride = query_stride(attention.query_stride, attention.query_heads, cache.head_dim),
      .output = attention.output,
      .length = attention.length,
      .keys = cache.keys,
      .values = cache.values,
      .page_table = cache.page_table,
      .pages_per_sequence = cache.pages_per_sequence,
      .page_shift = std::countr_zero(static_cast<unsigned>(cache.page_size)),
      .sequences = attention.sequences,
      .kv_heads = cache.kv_heads,
      .group = group,
      .head_tiles = (group + kFragmentRows - 1) / kFragmentRows,
      .window = attention.window,
      .score_scale = attention.scale * cache.key_scale * kLog2E,
      .value_scale = cache.value_scale,
      .parts = {.width = cache.head_dim,
                .query_heads = attention.query_heads,
                .group = group,
                .item_rows = std::min(group, kFragmentRows)}};
  const bool cut = can_be_cut(attention.longest_length, attention.window);
  const int held =
      lay_out(arguments.parts, std::int64_t{attention.sequences} * attention.query_heads, ctas,
              attention.workspace, workspace_bytes(attention));
  return {.arguments = arguments, .ctas = cut ? held : ctas, .parts = cut};
}

/// For tiles of `tile_rows` query rows.
inline PrefillArguments prefill_arguments(const PrefillAttention& attention, int tile_rows) {
  const PagedCache& cache = attention.cache;
  const int group = attention.query_heads / cache.kv_heads;
  // Each sequence adds less than one tile to what its rows fill.
  const std::int64_t max_tiles = attention.tokens * group / tile_rows + attention.sequences;
  return {
      .query = attention.query,
      .query_stride = query_stride(attention.query_stride, attention.query_heads, cache.head_dim),
      .output = attention.output,
      .first_query = attention.first_query,
      .length = attention.length,
      .keys = cache.keys,
      .values = cache.values,
      .page_table = cache.page_table,
      .pages_per_sequence = cache.pages_per_sequence,
      .page_shift = std::countr_zero(static_cast<unsigned>(cache.page_size)),
      .sequences = attention.sequences,
      .kv_heads = cache.kv_heads,
      .group = group,
      .window = attention.window,
      .max_tiles = static_cast<int>(max_tiles),
      .score_scale = attention.scale * cache.key_scale * kLog2E,
      .value_scale = cache.value_scale};
}

/// Shapes and elements that the latent kernel supports.
inline bool takes(const LatentDecode& attention) {
  const bool sixteen_bits =
      attention.element == Element::bf16 || attention.element == Element::fp16;
  return sixteen_bits && attention.latent == kLatent &&
         attention.latent + attention.rotary == kLatentRow;
}

/// m16 tiles per item: as few as hold the heads, at most 4.
inline int latent_head_tiles(int query_heads) {
  if (query_heads <= kFragmentRows) return 1;
  return query_heads <= 2 * kFragmentRows ? 2 : 4;
}

struct LatentLaunch {
  LatentArguments arguments{};
  int ctas = 1;
  bool parts = false;  // whether the second kernel is needed
};

/// For items of `item_rows` heads and a grid of at most `ctas` CTAs.
inline LatentLaunch latent_launch(const LatentDecode& attention, int item_rows, int ctas) {
  LatentArguments arguments{
      .query = attention.query,
      .output = attention.output,
      .cache = attention.cache,
      .page_table = attention.page_table,
      .length = attention.length,
      .pages_per_sequence = attention.pages_per_sequence,
      .page_shift = std::countr_zero(static_cast<unsigned>(attention.page_size)),
      .sequences = attention.sequences,
      .query_heads = attention.query_heads,
      .head_tiles = (attention.query_heads + item_rows - 1) / item_rows,
      .score_scale = attention.scale * kLog2E,
      .parts = {.width = kLatent,
                .query_heads = attention.query_heads,
                .group = attention.query_heads,
                .item_rows = std::min(attention.query_heads, item_rows)}};
  const bool cut = can_be_cut(attention.longest_length, 0);
  const int held =
      lay_out(arguments.parts, std::int64_t{attention.sequences} * attention.query_heads, ctas,
              attention.workspace, workspace_bytes(attention));
  return {.arguments = arguments, .ctas = cut ? held : ctas, .parts = cut};
}

}  // namespace roofcast::kernels::cuda
