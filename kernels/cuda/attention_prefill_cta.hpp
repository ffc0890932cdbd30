// One CTA of the prefill attention kernel, which attention_prefill.cu launches.
//
// FlashAttention-2 (Dao, arXiv 2307.08691, algorithm 1): a tile of query rows stays resident while
// tiles of 64 tokens are processed, and scores never leave the registers. A row is one query head
// of one token: the heads of a KV head's group are adjacent, token after token, so a tile has no
// empty rows for any number of tokens, and few tokens on the diagonal of the causal mask. Each warp
// has its own rows. The values of a tile are copied while its scores are computed, the next tile's
// keys while its values are multiplied.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_fragments.hpp"
#include "kernels/cuda/attention_sequences.hpp"
#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

/// PrefillAttention (kernels/attention.hpp) in the form passed to the device.
struct PrefillArguments {
  const void* query = nullptr;  // T [tokens, query_heads, head_dim] in rows of query_stride
  std::int64_t query_stride = 0;
  void* output = nullptr;                     // T [tokens, query_heads, head_dim]
  const std::int32_t* first_query = nullptr;  // [sequences + 1]
  const std::int32_t* length = nullptr;       // [sequences]
  const void* keys = nullptr;                 // Cache [pages, page_size, kv_heads, head_dim]
  const void* values = nullptr;
  const std::int32_t* page_table = nullptr;  // [sequences, pages_per_sequence]
  int pages_per_sequence = 0;
  int page_shift = 0;  // log2 of the page size
  int sequences = 0;
  int kv_heads = 0;
  int group = 1;          // query heads per KV head
  int window = 0;         // 0: all
  int max_tiles = 0;      // row tiles of all sequences, upper bound
  float score_scale = 0;  // for Q K^T, times log2(e)
  float value_scale = 1;
};

template <class T, class Cache, int kHeadDim>
struct PrefillTile {
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * kWarpThreads;
  // m16 tiles per warp. Two tiles share each operand read from shared memory, which otherwise
  // limits the rate of mma; the sums of 256 elements leave registers for only one.
  static constexpr int kRowTiles = kHeadDim > 128 ? 1 : 2;
  static constexpr int kWarpRows = kRowTiles * kFragmentRows;
  static constexpr int kRows = kWarps * kWarpRows;
  static constexpr int kTokens = sizeof(Cache) == 1 && kHeadDim > 64 ? 32 : 64;
  static constexpr int kQueryBytes = kRows * kHeadDim * 2;
  static constexpr int kTileBytes = kTokens * kHeadDim * static_cast<int>(sizeof(Cache));
  // Queries, later the output; keys; values; the cached rows of two tiles' tokens; the rows'
  // positions. At most 97 KiB.
  static constexpr int kKeys = kQueryBytes;
  static constexpr int kValues = kKeys + kTileBytes;
  static constexpr int kTokenRows = kValues + kTileBytes;
  static constexpr int kPositions = kTokenRows + 2 * kTokens * 4;
  static constexpr std::uint32_t kSharedBytes = kPositions + kRows * 4;
  static constexpr int kCtasPerSm = 2;  // as many as the registers allow
  static constexpr int kStepsOfLoad = cuda::kStepsOfLoad<Cache>;
  static constexpr int kLoads = kHeadDim / kFragmentDepth / kStepsOfLoad;
  static constexpr int kScoreTiles = kTokens / kFragmentWidth;
  static constexpr int kColumnTiles = kHeadDim / kFragmentWidth;
};

/// A tile of rows of one sequence and KV head.
struct PrefillItem {
  int sequence = 0;
  int kv_head = 0;
  int group = 1;
  int first_query = 0;     // of the sequence, among all of the batch
  int first_row = 0;       // of the tile, in the sequence
  int rows = 0;            // at most kRows
  int first_position = 0;  // in the sequence, of its first query
  int window = 0;
  TokenRange tokens{};  // visible to any row

  ROOFCAST_HOST_AND_DEVICE constexpr int position_of(int row) const {
    return first_position + (first_row + row) / group;
  }
  ROOFCAST_HOST_AND_DEVICE constexpr TokenRange seen_by(int row) const {
    return visible_from(position_of(row), window);
  }
};

/// State that a warp's lanes keep between tiles.
template <class Tile>
struct PrefillSums {
  float output[Tile::kRowTiles][Tile::kColumnTiles][4];
  SoftmaxState softmax[Tile::kRowTiles];
};

/// Where a lane reads mma's operands: of its warp's queries, and of any tile.
struct LaneAddresses {
  std::uint32_t queries;
  std::uint32_t keys;
  std::uint32_t values;
};

ROOFCAST_DEVICE int row_tiles_of(const PrefillArguments& prefill, int sequence, int tile_rows) {
  const int queries = prefill.first_query[sequence + 1] - prefill.first_query[sequence];
  return (queries * prefill.group + tile_rows - 1) / tile_rows;
}

/// The item of this CTA; without rows if there is none. Later rows of a sequence attend to more
/// tokens, so the last tiles come first: the longest work is not left for the end.
template <class Tile>
ROOFCAST_DEVICE PrefillItem item_of_cta(const PrefillArguments& prefill) {
  const int tile = prefill.max_tiles - 1 - block_index() / prefill.kv_heads;
  const SequenceStart start = find_sequence(prefill.sequences, tile, [&](int sequence) {
    return row_tiles_of(prefill, sequence, Tile::kRows);
  });
  if (start.sequence == prefill.sequences) return {};
  const int first = prefill.first_query[start.sequence];
  const int queries = prefill.first_query[start.sequence + 1] - first;
  const int first_row = (tile - start.unit) * Tile::kRows;
  const int left = queries * prefill.group - first_row;
  PrefillItem item{.sequence = start.sequence,
                   .kv_head = block_index() % prefill.kv_heads,
                   .group = prefill.group,
                   .first_query = first,
                   .first_row = first_row,
                   .rows = left < Tile::kRows ? left : Tile::kRows,
                   .first_position = prefill.length[start.sequence] - queries,
                   .window = prefill.window};
  item.tokens = {item.seen_by(0).first, item.seen_by(item.rows - 1).end};
  return item;
}

/// Element at which a row's head starts, in an array with rows of `stride` elements per token.
ROOFCAST_DEVICE std::int64_t row_start(const PrefillArguments& prefill, const PrefillItem& item,
                                       int row, std::int64_t stride, int head_dim) {
  const int token = (item.first_row + row) / item.group;
  const int head = item.kv_head * prefill.group + (item.first_row + row) % item.group;
  return (item.first_query + token) * stride + static_cast<std::int64_t>(head) * head_dim;
}

/// The cached row of the tile's token that this thread looks up, or kNoRow.
template <class Tile>
ROOFCAST_DEVICE std::uint32_t look_up(const PrefillArguments& prefill, const PrefillItem& item,
                                      int first_token) {
  const int token = first_token + thread_index();
  if (thread_index() >= Tile::kTokens || !contains(item.tokens, token)) return kNoRow;
  const std::int64_t entry = static_cast<std::int64_t>(item.sequence) * prefill.pages_per_sequence +
                             (token >> prefill.page_shift);
  return cache_row(prefill.page_table[entry], token, prefill.page_shift);
}

/// Stores it for all threads, until the tile after the next.
template <class Tile>
ROOFCAST_DEVICE void store_row(std::uint32_t row, int tile) {
  if (thread_index() >= Tile::kTokens) return;
  const int place = tile % 2 * Tile::kTokens + thread_index();
  store_shared(shared_base() + static_cast<std::uint32_t>(Tile::kTokenRows + place * 4), row);
}

/// Queues the copies of a tile's keys, or values, as one group.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void copy_tokens(const PrefillArguments& prefill, const PrefillItem& item,
                                 const void* cached, int tile, int to) {
  using Tile = PrefillTile<T, Cache, kHeadDim>;
  constexpr int kRowBytes = kHeadDim * static_cast<int>(sizeof(Cache));
  constexpr int kChunksPerRow = kRowBytes / kChunkBytes;
  constexpr int kRowsAtOnce = Tile::kThreads / kChunksPerRow;
  const int thread = computed_here(thread_index());
  const int chunk = thread % kChunksPerRow;
  const std::int64_t row_bytes = static_cast<std::int64_t>(prefill.kv_heads) * kRowBytes;
  const auto* from =
      static_cast<const unsigned char*>(cached) + item.kv_head * kRowBytes + chunk * kChunkBytes;
  const std::uint32_t base = shared_base();
  ROOFCAST_UNROLL
  for (int i = 0; i < Tile::kTokens / kRowsAtOnce; ++i) {
    const int token = i * kRowsAtOnce + thread / kChunksPerRow;
    const int place = tile % 2 * Tile::kTokens + token;
    const std::uint32_t row =
        load_shared(base + static_cast<std::uint32_t>(Tile::kTokenRows + place * 4));
    const bool valid = row != kNoRow;
    copy_async(base + static_cast<std::uint32_t>(to) + swizzled<kRowBytes>(token, chunk),
               from + (valid ? row * row_bytes : 0), valid);
  }
  commit_copies();
}

/// score += Q K^T for a warp's rows and one tile.
template <class T, class Cache, int kHeadDim, class Tile>
ROOFCAST_DEVICE void multiply_keys(const LaneAddresses& lane,
                                   float (&score)[Tile::kRowTiles][Tile::kScoreTiles][4]) {
  ROOFCAST_UNROLL
  for (int part = 0; part < Tile::kLoads; ++part) {
    Quad queries[Tile::kStepsOfLoad][Tile::kRowTiles];
    ROOFCAST_UNROLL
    for (int i = 0; i < Tile::kStepsOfLoad * Tile::kRowTiles; ++i) {
      const int step = i / Tile::kRowTiles;
      const int m = i % Tile::kRowTiles;
      queries[step][m] =
          load_queries<kHeadDim>(lane.queries, m * kFragmentRows, part * Tile::kStepsOfLoad + step);
    }
    ROOFCAST_UNROLL
    for (int token = 0; token < Tile::kTokens; token += kFragmentDepth) {
      const KeyOperands<Cache> keys = load_keys<T, Cache, kHeadDim>(lane.keys, token, part);
      ROOFCAST_UNROLL
      for (int i = 0; i < 2 * Tile::kStepsOfLoad * Tile::kRowTiles; ++i) {
        const int step = i / Tile::kRowTiles / 2;
        const int n = i / Tile::kRowTiles % 2;
        const int m = i % Tile::kRowTiles;
        matrix_multiply_add<T>(score[m][token / kFragmentWidth + n], queries[step][m],
                               keys.word[step][n][0], keys.word[step][n][1]);
      }
    }
  }
}

/// Stores the position of each row in shared memory, so that masking needs no divisions.
template <class Tile>
ROOFCAST_DEVICE void store_positions(const PrefillItem& item) {
  for (int row = thread_index(); row < Tile::kRows; row += Tile::kThreads) {
    store_shared(shared_base() + static_cast<std::uint32_t>(Tile::kPositions + row * 4),
                 static_cast<std::uint32_t>(item.position_of(row)));
  }
}

/// Sets the scores of tokens that a row does not attend to, to minus infinity.
template <class Tile>
ROOFCAST_DEVICE void mask(int window, int warp_row, int first_token,
                          float (&score)[Tile::kRowTiles][Tile::kScoreTiles][4]) {
  const int lane = thread_index() % kWarpThreads;
  const int row = computed_here(warp_row + lane / 4);
  const std::uint32_t positions =
      shared_base() + static_cast<std::uint32_t>(Tile::kPositions + row * 4);
  ROOFCAST_UNROLL
  for (int i = 0; i < 2 * Tile::kRowTiles; ++i) {
    const auto position =
        static_cast<int>(load_shared(positions + static_cast<std::uint32_t>(i * 32)));
    const TokenRange seen = visible_from(position, window);
    ROOFCAST_UNROLL
    for (int n = 0; n < Tile::kScoreTiles; ++n) {
      const int token = first_token + n * kFragmentWidth + lane % 4 * 2;
      float(&pair)[4] = score[i / 2][n];
      if (!contains(seen, token)) pair[i % 2 * 2] = kMinusInfinity;
      if (!contains(seen, token + 1)) pair[i % 2 * 2 + 1] = kMinusInfinity;
    }
  }
}

/// P, in mma's order, for a warp's rows and one tile.
template <class Tile>
struct Probabilities {
  Quad operand[Tile::kRowTiles][Tile::kTokens / kFragmentDepth];
};

/// Converts scores to P; rescales the sums so far to the new maxima.
template <class T, class Tile>
ROOFCAST_DEVICE void soften_rows(float score_scale,
                                 float (&score)[Tile::kRowTiles][Tile::kScoreTiles][4],
                                 PrefillSums<Tile>& sums, Probabilities<Tile>& probability) {
  ROOFCAST_UNROLL
  for (int m = 0; m < Tile::kRowTiles; ++m) {
    float shrink[2];
    soften(score[m], score_scale, sums.softmax[m], shrink);
    ROOFCAST_UNROLL
    for (int step = 0; step < Tile::kTokens / kFragmentDepth; ++step) {
      probability.operand[m][step] =
          probability_operand<T>(score[m][2 * step], score[m][2 * step + 1]);
    }
    ROOFCAST_UNROLL
    for (int n = 0; n < Tile::kColumnTiles; ++n) {
      ROOFCAST_UNROLL
      for (int i = 0; i < 4; ++i) sums.output[m][n][i] *= shrink[i / 2];
    }
  }
}

/// output += P V for a warp's rows and one tile.
template <class T, class Cache, int kHeadDim, class Tile>
ROOFCAST_DEVICE void multiply_values(const LaneAddresses& lane,
                                     const Probabilities<Tile>& probability,
                                     PrefillSums<Tile>& sums) {
  ROOFCAST_UNROLL
  for (int step = 0; step < Tile::kTokens / kFragmentDepth; ++step) {
    ROOFCAST_UNROLL
    for (int part = 0; part < Tile::kLoads; ++part) {
      const ValueOperands<Cache> values =
          load_values<T, Cache, kHeadDim>(lane.values, step * kFragmentDepth, part);
      constexpr int kTilesOfLoad = 2 * Tile::kStepsOfLoad;
      ROOFCAST_UNROLL
      for (int i = 0; i < kTilesOfLoad * Tile::kRowTiles; ++i) {
        const int n = i / Tile::kRowTiles;
        const int m = i % Tile::kRowTiles;
        matrix_multiply_add<T>(sums.output[m][kTilesOfLoad * part + n],
                               probability.operand[m][step], values.word[n][0], values.word[n][1]);
      }
    }
  }
}

/// Divides by a warp's sums and writes its rows, through its part of the queries' shared memory, so
/// that global memory is written in units of 16 bytes.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void write_output(const PrefillArguments& prefill, const PrefillItem& item,
                                  const PrefillSums<PrefillTile<T, Cache, kHeadDim>>& sums) {
  using Tile = PrefillTile<T, Cache, kHeadDim>;
  constexpr int kRowBytes = kHeadDim * 2;
  constexpr int kChunksPerRow = kRowBytes / kChunkBytes;
  const int lane = thread_index() % kWarpThreads;
  const int warp_row = thread_index() / kWarpThreads * Tile::kWarpRows;
  const std::uint32_t base = shared_base();
  const auto word_at = [&](int row, int element) {
    return base + swizzled<kRowBytes>(row, element / 8) +
           static_cast<std::uint32_t>(element % 8 * 2);
  };
  ROOFCAST_UNROLL
  for (int m = 0; m < Tile::kRowTiles; ++m) {
    ROOFCAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + m * kFragmentRows + half * 8 + lane / 4;
      const float sum = row_sum(sums.softmax[m].sum[half]);
      const float factor = sum > 0 ? prefill.value_scale / sum : 0.0F;
      ROOFCAST_UNROLL
      for (int n = 0; n < Tile::kColumnTiles; n += 2) {
        const float a = sums.output[m][n][2 * half] * factor;
        const float b = sums.output[m][n][2 * half + 1] * factor;
        const float c = sums.output[m][n + 1][2 * half] * factor;
        const float d = sums.output[m][n + 1][2 * half + 1] * factor;
        if constexpr (kReordered<Cache>) {  // elements 4t, 4t + 2 and 4t + 1, 4t + 3
          store_shared_pair(word_at(row, head_element<Cache>(n, lane, 0)), pack<T>(a, c),
                            pack<T>(b, d));
        } else {
          store_shared(word_at(row, head_element<Cache>(n, lane, 0)), pack<T>(a, b));
          store_shared(word_at(row, head_element<Cache>(n + 1, lane, 0)), pack<T>(c, d));
        }
      }
    }
  }
  warp_barrier();
  const std::int64_t stride = static_cast<std::int64_t>(prefill.kv_heads) * item.group * kHeadDim;
  for (int i = lane; i < Tile::kWarpRows * kChunksPerRow; i += kWarpThreads) {
    const int row = warp_row + i / kChunksPerRow;
    const int chunk = i % kChunksPerRow;
    if (row >= item.rows) break;
    const std::int64_t start = row_start(prefill, item, row, stride, kHeadDim);
    static_cast<Quad*>(prefill.output)[start / 8 + chunk] =
        load_shared_quad(base + swizzled<kRowBytes>(row, chunk));
  }
}

/// One CTA of Tile::kThreads threads, of max_tiles * kv_heads CTAs.
template <class T, class Cache, int kHeadDim>
ROOFCAST_DEVICE void prefill_attention(const PrefillArguments& prefill) {
  using Tile = PrefillTile<T, Cache, kHeadDim>;
  const PrefillItem item = item_of_cta<Tile>(prefill);
  if (item.rows == 0) return;
  const int begin = item.tokens.first / Tile::kTokens;
  const int end = (item.tokens.end + Tile::kTokens - 1) / Tile::kTokens;

  store_row<Tile>(look_up<Tile>(prefill, item, begin * Tile::kTokens), begin);
  store_positions<Tile>(item);
  const auto* query = static_cast<const Quad*>(prefill.query);
  copy_queries<Cache, kHeadDim>(
      Tile::kRows, Tile::kThreads, shared_base(), [&](int row) -> const Quad* {
        if (row >= item.rows) return nullptr;
        return query + row_start(prefill, item, row, prefill.query_stride, kHeadDim) / 8;
      });
  barrier();
  copy_tokens<T, Cache, kHeadDim>(prefill, item, prefill.keys, begin, Tile::kKeys);

  // Tokens visible to the first and the last of this warp's rows.
  const int warp_row = thread_index() / kWarpThreads * Tile::kWarpRows;
  const int last_row =
      warp_row + Tile::kWarpRows < item.rows ? warp_row + Tile::kWarpRows - 1 : item.rows - 1;
  const TokenRange seen_first = item.seen_by(warp_row);
  const TokenRange seen_last = item.seen_by(last_row);
  const std::uint32_t base = shared_base();
  const LaneAddresses lane{.queries = lane_in_queries<kHeadDim>(
                               base + static_cast<std::uint32_t>(warp_row * kHeadDim * 2)),
                           .keys = lane_in_keys<Cache, kHeadDim>(base + Tile::kKeys),
                           .values = lane_in_values<Cache, kHeadDim>(base + Tile::kValues)};
  PrefillSums<Tile> sums{};
  for (int tile = begin; tile < end; ++tile) {
    const int first_token = tile * Tile::kTokens;
    wait_copies<0>();
    barrier();  // the keys have arrived; the values are no longer read
    copy_tokens<T, Cache, kHeadDim>(prefill, item, prefill.values, tile, Tile::kValues);
    const std::uint32_t next_row = look_up<Tile>(prefill, item, first_token + Tile::kTokens);
    float score[Tile::kRowTiles][Tile::kScoreTiles][4] = {};
    multiply_keys<T, Cache, kHeadDim, Tile>(lane, score);
    store_row<Tile>(next_row, tile + 1);

    wait_copies<0>();
    barrier();  // the values have arrived; the keys are no longer read
    if (first_token < seen_last.first || first_token + Tile::kTokens > seen_first.end) {
      mask<Tile>(prefill.window, warp_row, first_token, score);
    }
    Probabilities<Tile> probability;
    soften_rows<T, Tile>(prefill.score_scale, score, sums, probability);
    if (tile + 1 < end) {  // only now that the scores have left their registers
      copy_tokens<T, Cache, kHeadDim>(prefill, item, prefill.keys, tile + 1, Tile::kKeys);
    }
    multiply_values<T, Cache, kHeadDim, Tile>(lane, probability, sums);
  }
  write_output<T, Cache, kHeadDim>(prefill, item, sums);
}

}  // namespace roofcast::kernels::cuda
