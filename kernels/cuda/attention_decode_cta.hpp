// One CTA of the decode attention kernel, which attention_decode.cu launches.
//
// An item is a sequence, a KV head and up to 16 of its query heads, which fill the rows of an m16
// tile. The tokens of all items, in units of 64, form one sequence of work, of which each CTA does
// an equal share (attention_tile.hpp) whatever the lengths: the end of one item, some whole ones,
// and the start of another. Each warp processes its own 16-token tiles with its own copies in
// flight and its own softmax, without a barrier; the warps' results are merged at the end of the
// item.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_fragments.hpp"
#include "kernels/cuda/attention_parts.hpp"
#include "kernels/cuda/attention_sequences.hpp"
#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

/// DecodeAttention (kernels/attention.hpp) in the form passed to the device.
struct DecodeArguments {
  const void* query = nullptr;    // T [sequences, query_heads, head_dim] in rows of query_stride
  std::int64_t query_stride = 0;  // elements, even
  void* output = nullptr;         // T [sequences, query_heads, head_dim]
  const std::int32_t* length = nullptr;  // [sequences]
  const void* keys = nullptr;            // Cache [pages, page_size, kv_heads, head_dim]
  const void* values = nullptr;
  const std::int32_t* page_table = nullptr;  // [sequences, pages_per_sequence]
  int pages_per_sequence = 0;
  int page_shift = 0;  // log2 of the page size
  int sequences = 0;
  int kv_heads = 0;
  int group = 1;          // query heads per KV head
  int head_tiles = 1;     // m16 tiles per group
  int window = 0;         // 0: all
  float score_scale = 0;  // for Q K^T, times log2(e)
  float value_scale = 1;
  Parts parts{};  // for rows [sequences, query_heads]
};

template <class T, class Cache, int kHeadDim>
struct DecodeTile {
  static constexpr int kRowBytes = kHeadDim * static_cast<int>(sizeof(Cache));
  static constexpr int kTokens = 16;                      // per warp's tile: one k16 of P V
  static constexpr int kTileBytes = kTokens * kRowBytes;  // of keys, and the same of values
  // Queries of 256 elements would occupy the registers that their sums need.
  static constexpr bool kQueryInShared = kHeadDim > 128;
  // At most 96 KiB, so that one CTA fits any sm_8x, and two or three an SM of an H100. There, 64
  // KiB or more are in flight per SM, where 4.8 TB/s for a microsecond needs 36 KiB.
  static constexpr int kWarps = kHeadDim > 128 ? 2 : 4;
  static constexpr bool kFourFit = kWarps * 4 * 2 * kTileBytes <= 64 * 1024;
  static constexpr int kStages = kFourFit ? 4 : (kQueryInShared ? 2 : 3);
  static constexpr int kThreads = kWarps * kWarpThreads;
  static constexpr int kRingBytes = kStages * 2 * kTileBytes;
  static constexpr std::uint32_t kQueryBytes = kQueryInShared ? kFragmentRows * kHeadDim * 2 : 0;
  static constexpr std::uint32_t kSharedBytes = kWarps * kRingBytes + kQueryBytes;
  // CTAs per SM of an H100, limited by shared memory (228 KiB, of which the system takes 1 KiB per
  // CTA).
  static constexpr int kCtasPerSm = kSharedBytes > 75 * 1024 ? 2 : 3;
  static constexpr int kSteps = kHeadDim / kFragmentDepth;
  static constexpr int kColumnTiles = kHeadDim / kFragmentWidth;
  static constexpr int kStepsOfLoad = cuda::kStepsOfLoad<Cache>;
  static constexpr int kLoads = kSteps / kStepsOfLoad;
};

/// Position of an item, and the part of it that this CTA does.
struct DecodeItem {
  int sequence = 0;
  int kv_head = 0;
  int first_head = 0;   // query head of row 0
  int rows = 0;         // query heads, at most 16
  TokenRange tokens{};  // of this part; may start up to 15 before the first visible one
  int first_visible = 0;
  PartOfItem part{};
};

/// A lane's part of its warp's result.
template <int kColumnTiles>
struct DecodeSums {
  float output[kColumnTiles][4];
  SoftmaxState softmax;
};

/// A operands of the item's query heads, kept in registers or read from shared memory.
template <class Tile>
struct DecodeQuery {
  Quad held[Tile::kQueryInShared ? 1 : Tile::kSteps];
  std::uint32_t lane_address;
};

/// Word `pair` of a row of query heads (two elements), zero in rows beyond the item's.
ROOFCAST_DEVICE std::uint32_t query_word(const std::uint32_t* row, bool valid, int pair) {
  return valid ? row[pair] : 0;
}

template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void load_query(const DecodeArguments& decode, const DecodeItem& item,
                                DecodeQuery<DecodeTile<T, Cache, kHeadDim>>& query) {
  using Tile = DecodeTile<T, Cache, kHeadDim>;
  const std::int64_t first =
      item.sequence * decode.query_stride + static_cast<std::int64_t>(item.first_head) * kHeadDim;
  if constexpr (Tile::kQueryInShared) {
    const std::uint32_t tile = shared_base() + Tile::kWarps * Tile::kRingBytes;
    query.lane_address = lane_in_queries<kHeadDim>(tile);
    const auto* rows = static_cast<const Quad*>(decode.query) + first * 2 / kChunkBytes;
    copy_queries<Cache, kHeadDim>(kFragmentRows, Tile::kThreads, tile, [&](int row) {
      return row < item.rows ? rows + row * (kHeadDim * 2 / kChunkBytes) : nullptr;
    });
    barrier();
    return;
  }
  const int lane = thread_index() % kWarpThreads;
  const auto* words = static_cast<const std::uint32_t*>(decode.query) + first / 2;
  ROOFCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    const bool valid = row < item.rows;
    ROOFCAST_UNROLL
    for (int step = 0; step < (Tile::kQueryInShared ? 0 : Tile::kSteps); ++step) {
      const std::uint32_t* group = words + row * (kHeadDim / 2) + step * 8;
      const int t = lane % 4;
      if constexpr (kReordered<Cache>) {
        const std::uint32_t a = query_word(group, valid, 2 * t);
        const std::uint32_t b = query_word(group, valid, 2 * t + 1);
        query.held[step].word[half] = join_low(a, b);
        query.held[step].word[half + 2] = join_high(a, b);
      } else {
        query.held[step].word[half] = query_word(group, valid, t);
        query.held[step].word[half + 2] = query_word(group, valid, t + 4);
      }
    }
  }
}

template <int kHeadDim, class Tile>
ROOFCAST_DEVICE Quad query_operand(const DecodeQuery<Tile>& query, int step) {
  if constexpr (Tile::kQueryInShared) {
    return load_queries<kHeadDim>(query.lane_address, 0, step);
  } else {
    return query.held[step];
  }
}

/// The cached row of a token of this item, or kNoRow.
ROOFCAST_DEVICE std::uint32_t row_of_token(const DecodeArguments& decode, const DecodeItem& item,
                                           int token) {
  if (token < item.first_visible || token >= item.tokens.end) return kNoRow;
  const std::int64_t entry = static_cast<std::int64_t>(item.sequence) * decode.pages_per_sequence +
                             (token >> decode.page_shift);
  return cache_row(decode.page_table[entry], token, decode.page_shift);
}

/// Queues the copies of one tile of keys and of values. `own_row` is the cached row of the tile's
/// token lane % 16.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void copy_tile(const DecodeArguments& decode, const DecodeItem& item,
                               std::uint32_t own_row, std::uint32_t tile) {
  using Tile = DecodeTile<T, Cache, kHeadDim>;
  constexpr int kChunksPerRow = Tile::kRowBytes / kChunkBytes;
  constexpr int kRowsAtOnce = kWarpThreads / kChunksPerRow;
  static_assert(kRowsAtOnce >= 1 && Tile::kTokens % kRowsAtOnce == 0);
  const int lane = thread_index() % kWarpThreads;
  const int chunk = lane % kChunksPerRow;
  const std::int64_t row_bytes = static_cast<std::int64_t>(decode.kv_heads) * Tile::kRowBytes;
  const std::int64_t within = item.kv_head * Tile::kRowBytes + chunk * kChunkBytes;
  const auto* keys = static_cast<const unsigned char*>(decode.keys) + within;
  const auto* values = static_cast<const unsigned char*>(decode.values) + within;
  ROOFCAST_UNROLL
  for (int i = 0; i < Tile::kTokens / kRowsAtOnce; ++i) {
    const int token = i * kRowsAtOnce + lane / kChunksPerRow;
    const std::uint32_t row = shuffle(own_row, token);
    const bool valid = row != kNoRow;
    const std::int64_t from = valid ? row * row_bytes : 0;
    const std::uint32_t to = tile + swizzled<Tile::kRowBytes>(token, chunk);
    copy_async(to, keys + from, valid);
    copy_async(to + Tile::kTileBytes, values + from, valid);
  }
}

/// Adds softmax(scores) times values of one tile to the sums.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void add_tile(const DecodeArguments& decode, const DecodeItem& item,
                              const DecodeQuery<DecodeTile<T, Cache, kHeadDim>>& query,
                              int first_token, std::uint32_t tile,
                              DecodeSums<kHeadDim / kFragmentWidth>& sums) {
  using Tile = DecodeTile<T, Cache, kHeadDim>;
  const std::uint32_t keys_at = lane_in_keys<Cache, kHeadDim>(tile);
  const std::uint32_t values_at = lane_in_values<Cache, kHeadDim>(tile + Tile::kTileBytes);
  float score[2][4] = {};
  ROOFCAST_UNROLL
  for (int part = 0; part < Tile::kLoads; ++part) {
    const KeyOperands<Cache> keys = load_keys<T, Cache, kHeadDim>(keys_at, 0, part);
    ROOFCAST_UNROLL
    for (int step = 0; step < Tile::kStepsOfLoad; ++step) {
      const Quad operand = query_operand<kHeadDim>(query, Tile::kStepsOfLoad * part + step);
      ROOFCAST_UNROLL
      for (int n = 0; n < 2; ++n) {
        matrix_multiply_add<T>(score[n], operand, keys.word[step][n][0], keys.word[step][n][1]);
      }
    }
  }

  if (first_token < item.first_visible || first_token + Tile::kTokens > item.tokens.end) {
    const int lane = thread_index() % kWarpThreads;
    ROOFCAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      const int token = first_token + i / 4 * kFragmentWidth + place_in_c(lane, i % 4).column;
      const bool seen = token >= item.first_visible && token < item.tokens.end;
      if (!seen) score[i / 4][i % 4] = kMinusInfinity;
    }
  }

  float shrink[2];
  soften(score, decode.score_scale, sums.softmax, shrink);
  const Quad probability = probability_operand<T>(score[0], score[1]);
  ROOFCAST_UNROLL
  for (int part = 0; part < Tile::kLoads; ++part) {
    const ValueOperands<Cache> values = load_values<T, Cache, kHeadDim>(values_at, 0, part);
    ROOFCAST_UNROLL
    for (int n = 0; n < 2 * Tile::kStepsOfLoad; ++n) {
      float(&output)[4] = sums.output[2 * Tile::kStepsOfLoad * part + n];
      ROOFCAST_UNROLL
      for (int i = 0; i < 4; ++i) output[i] *= shrink[i / 2];
      matrix_multiply_add<T>(output, probability, values.word[n][0], values.word[n][1]);
    }
  }
}

/// A warp's loop over its tiles of the item's part: tile `warp`, then every kWarps-th.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void walk_tiles(const DecodeArguments& decode, const DecodeItem& item,
                                DecodeSums<kHeadDim / kFragmentWidth>& sums) {
  using Tile = DecodeTile<T, Cache, kHeadDim>;
  constexpr int kStride = Tile::kWarps * Tile::kTokens;
  const int lane = thread_index() % kWarpThreads;
  const int warp = thread_index() / kWarpThreads;
  const int first = item.tokens.first + warp * Tile::kTokens;
  const std::uint32_t ring = shared_base() + static_cast<std::uint32_t>(warp * Tile::kRingBytes);

  std::uint32_t own_row = row_of_token(decode, item, first + lane % 16);
  int next = first;  // first token of the next tile to copy
  const auto queue_next = [&](int stage) {
    if (next < item.tokens.end) {
      copy_tile<T, Cache, kHeadDim>(
          decode, item, own_row, ring + static_cast<std::uint32_t>(stage * 2 * Tile::kTileBytes));
    }
    commit_copies();  // empty beyond the end, so that groups can be counted
    next += kStride;
    own_row = row_of_token(decode, item, next + lane % 16);
  };
  ROOFCAST_UNROLL
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) queue_next(stage);

  DecodeQuery<Tile> query;
  load_query<T, Cache, kHeadDim>(decode, item, query);
  int stage = 0;
  for (int token = first; token < item.tokens.end; token += kStride) {
    wait_copies<Tile::kStages - 2>();
    warp_barrier();  // all copies have arrived, and no lane still reads the previous tile
    queue_next(stage == 0 ? Tile::kStages - 1 : stage - 1);
    add_tile<T, Cache, kHeadDim>(decode, item, query, token,
                                 ring + static_cast<std::uint32_t>(stage * 2 * Tile::kTileBytes),
                                 sums);
    stage = stage + 1 == Tile::kStages ? 0 : stage + 1;
  }
  wait_copies<0>();
}

/// Merges the warps' results through shared memory and writes them: as output if this CTA does the
/// whole item, else as a part.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void join_warps(const DecodeArguments& decode, const DecodeItem& item,
                                DecodeSums<kHeadDim / kFragmentWidth>& sums) {
  using Tile = DecodeTile<T, Cache, kHeadDim>;
  constexpr int kRowFloats = kHeadDim + 8;  // offsets consecutive rows of a fragment by 8 banks
  constexpr int kWarpBytes = kFragmentRows * kRowFloats * 4;
  constexpr int kStatistics = Tile::kWarps * kWarpBytes;  // where they start
  static_assert(kStatistics + Tile::kWarps * kFragmentRows * 8 <= Tile::kWarps * Tile::kRingBytes);
  const int lane = thread_index() % kWarpThreads;
  const int warp = thread_index() / kWarpThreads;
  const std::uint32_t base = shared_base();
  const auto statistics_at = [&](int of_warp, int row) {
    return base + static_cast<std::uint32_t>(kStatistics + (of_warp * kFragmentRows + row) * 8);
  };
  const auto output_at = [&](int of_warp, int row, int element) {
    return base +
           static_cast<std::uint32_t>(of_warp * kWarpBytes + (row * kRowFloats + element) * 4);
  };

  barrier();  // the tiles are no longer read
  ROOFCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    const float sum = row_sum(sums.softmax.sum[half]);
    const float largest = finite(sums.softmax.largest[half]) * decode.score_scale;
    const float stored = sums.softmax.largest[half] == kMinusInfinity ? kMinusInfinity : largest;
    if (row >= item.rows) continue;
    if (lane % 4 == 0) store_shared_pair(statistics_at(warp, row), bits_of(stored), bits_of(sum));
    ROOFCAST_UNROLL
    for (int n = 0; n < Tile::kColumnTiles; ++n) {
      ROOFCAST_UNROLL
      for (int i = 0; i < 2; ++i) {
        store_shared(output_at(warp, row, head_element<Cache>(n, lane, i)),
                     bits_of(sums.output[n][2 * half + i]));
      }
    }
  }
  barrier();

  constexpr int kPairs = kHeadDim / 2;
  const std::int64_t first_row =
      static_cast<std::int64_t>(item.sequence) * decode.kv_heads * decode.group + item.first_head;
  for (int i = thread_index(); i < item.rows * kPairs; i += Tile::kThreads) {
    const int row = i / kPairs;
    const int pair = i % kPairs;
    float largest = kMinusInfinity;
    ROOFCAST_UNROLL
    for (int w = 0; w < Tile::kWarps; ++w) {
      largest = largest_of(largest, float_of(load_shared(statistics_at(w, row))));
    }
    float sum = 0;
    float low = 0;
    float high = 0;
    ROOFCAST_UNROLL
    for (int w = 0; w < Tile::kWarps; ++w) {
      const float of_warp = float_of(load_shared(statistics_at(w, row)));
      const float weight = power_of_two(of_warp - finite(largest));
      sum = multiply_add(weight, float_of(load_shared(statistics_at(w, row) + 4)), sum);
      low = multiply_add(weight, float_of(load_shared(output_at(w, row, 2 * pair))), low);
      high = multiply_add(weight, float_of(load_shared(output_at(w, row, 2 * pair + 1))), high);
    }
    const std::int64_t of_all = first_row + row;
    if (item.part.count == 1) {
      const float factor = sum > 0 ? decode.value_scale / sum : 0.0F;
      auto* output = static_cast<std::uint32_t*>(decode.output) + of_all * kPairs;
      output[pair] = pack<T>(low * factor, high * factor);
    } else {
      part_output(decode.parts, of_all, row, item.part)[pair] = {low, high};
    }
    if (pair == 0) write_statistics(decode.parts, of_all, row, item.part, {largest, sum});
  }
  barrier();  // before the next item's tiles overwrite what was read here
}

ROOFCAST_DEVICE DecodeItem item_of(const DecodeArguments& decode, const ShareOfItem& share) {
  const int kv_head = share.item / decode.head_tiles;
  const int first_of_group = share.item % decode.head_tiles * kFragmentRows;
  const int left = decode.group - first_of_group;
  return {.sequence = share.sequence,
          .kv_head = kv_head,
          .first_head = kv_head * decode.group + first_of_group,
          .rows = left < kFragmentRows ? left : kFragmentRows,
          .tokens = share.tokens,
          .first_visible = share.first_visible,
          .part = share.part};
}

/// One CTA of Tile::kThreads threads; works with any grid size.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void decode_attention(const DecodeArguments& decode) {
  let_next_kernel_start();
  const auto visible_at = [&](int sequence) {
    return visible_from(decode.length[sequence] - 1, decode.window);
  };
  const int items = decode.kv_heads * decode.head_tiles;
  for (int done = 0;;) {
    const ShareOfItem share = next_share(done, decode.sequences, items, visible_at);
    if (share.units == 0) return;
    const DecodeItem item = item_of(decode, share);
    DecodeSums<kHeadDim / kFragmentWidth> sums{};
    walk_tiles<T, Cache, kHeadDim>(decode, item, sums);
    join_warps<T, Cache, kHeadDim>(decode, item, sums);
    done += share.units;
  }
}

}  // namespace roofcast::kernels::cuda
