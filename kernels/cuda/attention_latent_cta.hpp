// One CTA of the latent decode kernel (MLA), which attention_latent.cu launches.
//
// A token's row of the cache is its key, and the row's first 512 elements its value: a tile of 32
// tokens is copied once and serves both products. An item is a sequence and 16, 32 or 64 of its
// query heads; a CTA does an equal share of all items' tokens, as in decode
// (attention_sequences.hpp). The warps of one m16 tile of heads divide the work in two ways. For Q
// K^T each takes every kSharers-th 16 elements of the rows, so that its queries stay in registers,
// and the partial scores are added through shared memory; for P V each takes its own columns. The
// softmax between them is so small that each warp repeats it, with the same bits, and P needs no
// second exchange.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_fragments.hpp"
#include "kernels/cuda/attention_parts.hpp"
#include "kernels/cuda/attention_sequences.hpp"
#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

inline constexpr int kLatent = 512;
inline constexpr int kLatentRow = kLatent + 64;  // including the rotary elements

/// LatentDecode (kernels/attention.hpp) in the form passed to the device.
struct LatentArguments {
  const void* query = nullptr;               // T [sequences, query_heads, kLatentRow]
  void* output = nullptr;                    // T [sequences, query_heads, kLatent]
  const void* cache = nullptr;               // T [pages, page_size, kLatentRow]
  const std::int32_t* page_table = nullptr;  // [sequences, pages_per_sequence]
  const std::int32_t* length = nullptr;      // [sequences]
  int pages_per_sequence = 0;
  int page_shift = 0;  // log2 of the page size
  int sequences = 0;
  int query_heads = 0;
  int head_tiles = 1;     // items per sequence
  float score_scale = 0;  // times log2(e)
  Parts parts{};
};

/// kHeadTiles: m16 tiles of heads, 1, 2 or 4. kStages: tiles in shared memory; 2 (with up to 2
/// tiles of heads) fit any sm_8x, 4 an SM of an H100, where 108 KiB are then in flight.
template <int kHeadTilesIn, int kStagesIn>
struct LatentTile {
  static constexpr int kHeadTiles = kHeadTilesIn;
  static constexpr int kStages = kStagesIn;
  static constexpr int kSharers = kHeadTiles == 4 ? 2 : 4;  // warps per m16 tile
  static constexpr int kWarps = kHeadTiles * kSharers;
  static constexpr int kThreads = kWarps * kWarpThreads;
  static constexpr int kRows = kHeadTiles * kFragmentRows;
  static constexpr int kTokens = 32;
  static constexpr int kRowBytes = kLatentRow * 2;
  static constexpr int kTileBytes = kTokens * kRowBytes;
  static constexpr int kScoreTiles = kTokens / kFragmentWidth;
  static constexpr int kScoreBytes =
      kWarpThreads * kScoreTiles * 4 * 4;               // of a warp's partial scores
  static constexpr int kScores = kStages * kTileBytes;  // where they start
  static constexpr int kQueries = kScores + kWarps * kScoreBytes;
  static constexpr int kSteps = kLatentRow / kFragmentDepth / kSharers;  // k16 steps per warp
  // Two of them do not fit in registers next to the output's 128.
  static constexpr int kKeptSteps = kSharers == 2 ? kSteps - 2 : kSteps;
  static constexpr int kQueryBytes = (kSteps - kKeptSteps) * kWarpThreads * kChunkBytes;
  static constexpr std::uint32_t kSharedBytes = kQueries + kWarps * kQueryBytes;
  static constexpr int kColumns = kLatent / kSharers;  // output columns per warp
  static constexpr int kColumnTiles = kColumns / kFragmentWidth;
  static_assert(kTokens == kWarpThreads, "each lane looks up one token");
};

struct LatentItem {
  int sequence = 0;
  int first_head = 0;
  int rows = 0;  // query heads, at most kRows
  TokenRange tokens{};
  PartOfItem part{};
  int units = 0;
};

/// Which part of the two products a warp computes.
struct LatentWarp {
  int row = 0;     // first of its m16 tile
  int sharer = 0;  // 0 to kSharers - 1
};

template <class Tile>
ROOFCAST_DEVICE LatentWarp warp_of(int thread) {
  const int warp = thread / kWarpThreads;
  return {warp / Tile::kSharers * kFragmentRows, warp % Tile::kSharers};
}

template <class Tile>
struct LatentSums {
  float output[Tile::kColumnTiles][4];
  SoftmaxState softmax;  // equal in all warps of an m16 tile
};

/// A operands of the warp's k16 steps: its step s is step s * kSharers + sharer of all.
template <class Tile>
struct LatentQuery {
  Quad kept[Tile::kKeptSteps];

  /// Where this thread stores those of a later step.
  ROOFCAST_DEVICE static std::uint32_t place(int step) {
    const int thread = computed_here(thread_index());
    const int offset = Tile::kQueries + thread / kWarpThreads * Tile::kQueryBytes +
                       thread % kWarpThreads * kChunkBytes;
    return shared_base() + static_cast<std::uint32_t>(offset + (step - Tile::kKeptSteps) *
                                                                   kWarpThreads * kChunkBytes);
  }
  ROOFCAST_DEVICE Quad operand(int step) const {
    return step < Tile::kKeptSteps ? kept[step] : load_shared_quad(place(step));
  }
};

template <class Tile>
ROOFCAST_DEVICE void load_latent_query(const LatentArguments& latent, const LatentItem& item,
                                       LatentQuery<Tile>& query) {
  const int lane = thread_index() % kWarpThreads;
  const LatentWarp warp = warp_of<Tile>(thread_index());
  const std::int64_t first =
      static_cast<std::int64_t>(item.sequence) * latent.query_heads + item.first_head;
  const auto* words = static_cast<const std::uint32_t*>(latent.query) + first * (kLatentRow / 2);
  const int row = warp.row + lane / 4;
  const std::uint32_t* from = words + row * (kLatentRow / 2) + warp.sharer * 8 + lane % 4;
  ROOFCAST_UNROLL
  for (int step = 0; step < Tile::kSteps; ++step) {
    Quad quad;
    ROOFCAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      const bool valid = row + 8 * half < item.rows;
      // 16 elements are 8 words
      const int word = step * Tile::kSharers * 8 + 8 * half * (kLatentRow / 2);
      quad.word[half] = valid ? from[word] : 0;
      quad.word[half + 2] = valid ? from[word + 4] : 0;
    }
    if (step < Tile::kKeptSteps) {
      query.kept[step] = quad;
    } else {
      store_shared_quad(LatentQuery<Tile>::place(step), quad);  // read only by this thread
    }
  }
}

/// The cached row of the token that this lane looks up, or kNoRow.
ROOFCAST_DEVICE std::uint32_t row_of_lane(const LatentArguments& latent, const LatentItem& item,
                                          int first_token) {
  const int token = first_token + thread_index() % kWarpThreads;
  if (token >= item.tokens.end) return kNoRow;
  const std::int64_t entry = static_cast<std::int64_t>(item.sequence) * latent.pages_per_sequence +
                             (token >> latent.page_shift);
  return cache_row(latent.page_table[entry], token, latent.page_shift);
}

/// Queues this thread's copies of a tile; lane i of each warp supplies the row of token i.
template <class Tile>
ROOFCAST_DEVICE void copy_latent_tile(const LatentArguments& latent, std::uint32_t own_row,
                                      std::uint32_t tile) {
  constexpr int kChunksPerRow = Tile::kRowBytes / kChunkBytes;
  constexpr int kCopies = Tile::kTokens * kChunksPerRow / Tile::kThreads;
  static_assert(kCopies * Tile::kThreads == Tile::kTokens * kChunksPerRow);
  const auto* cache = static_cast<const unsigned char*>(latent.cache);
  ROOFCAST_UNROLL_BY_THREE  // unrolling fully would use registers
      for (int i = 0; i < kCopies; ++i) {
    const int index = computed_here(thread_index()) + i * Tile::kThreads;
    const int token = index / kChunksPerRow;
    const int chunk = index % kChunksPerRow;
    const std::uint32_t row = shuffle(own_row, token);
    const bool valid = row != kNoRow;
    const std::int64_t from =
        valid ? static_cast<std::int64_t>(row) * Tile::kRowBytes + chunk * kChunkBytes : 0;
    copy_async(tile + swizzled<Tile::kRowBytes>(token, chunk), cache + from, valid);
  }
}

/// This warp's part of Q K^T, stored for the warps of its m16 tile in lane order.
template <class T, class Tile>
ROOFCAST_DEVICE void share_scores(const LatentQuery<Tile>& query, std::uint32_t tile) {
  const int thread = computed_here(thread_index());
  const int lane = thread % kWarpThreads;
  const int first_chunk = warp_of<Tile>(thread).sharer * 2 + lane / 8 % 2;
  const std::uint32_t keys_at =
      tile + swizzled<Tile::kRowBytes>(lane % 8 + lane / 16 * 8, first_chunk);
  float score[Tile::kScoreTiles][4] = {};
  ROOFCAST_UNROLL
  for (int step = 0; step < Tile::kSteps; ++step) {
    const Quad operand = query.operand(step);
    ROOFCAST_UNROLL
    for (int n = 0; n < Tile::kScoreTiles; n += 2) {
      const KeyOperands<T> keys =
          load_keys<T, T, kLatentRow>(keys_at, n * kFragmentWidth, step * Tile::kSharers);
      matrix_multiply_add<T>(score[n], operand, keys.word[0][0][0], keys.word[0][0][1]);
      matrix_multiply_add<T>(score[n + 1], operand, keys.word[0][1][0], keys.word[0][1][1]);
    }
  }
  const int warp = thread_index() / kWarpThreads;
  const std::uint32_t to =
      shared_base() +
      static_cast<std::uint32_t>(Tile::kScores + warp * Tile::kScoreBytes + lane * 16);
  ROOFCAST_UNROLL
  for (int n = 0; n < Tile::kScoreTiles; ++n) {
    store_shared_quad(
        to + static_cast<std::uint32_t>(n * kWarpThreads * 16),
        {bits_of(score[n][0]), bits_of(score[n][1]), bits_of(score[n][2]), bits_of(score[n][3])});
  }
}

/// The sum of the parts, added in the same order in each warp.
template <class Tile>
ROOFCAST_DEVICE void add_scores(float (&score)[Tile::kScoreTiles][4]) {
  const int thread = computed_here(thread_index());
  const int lane = thread % kWarpThreads;
  const int first_warp = warp_of<Tile>(thread).row / kFragmentRows * Tile::kSharers;
  const std::uint32_t from =
      shared_base() +
      static_cast<std::uint32_t>(Tile::kScores + first_warp * Tile::kScoreBytes + lane * 16);
  ROOFCAST_UNROLL
  for (int i = 0; i < Tile::kSharers * Tile::kScoreTiles; ++i) {
    const int n = i % Tile::kScoreTiles;
    const int offset = i / Tile::kScoreTiles * Tile::kScoreBytes + n * kWarpThreads * 16;
    const Quad part = load_shared_quad(from + static_cast<std::uint32_t>(offset));
    ROOFCAST_UNROLL
    for (int e = 0; e < 4; ++e) score[n][e] += float_of(part.word[e]);
  }
}

/// Adds softmax(scores) times V of the tile, for this warp's columns, to the sums.
template <class T, class Tile>
ROOFCAST_DEVICE void add_latent_tile(const LatentArguments& latent, const LatentItem& item,
                                     int first_token, std::uint32_t tile, LatentSums<Tile>& sums) {
  const int thread = computed_here(thread_index());
  const int lane = thread % kWarpThreads;
  float score[Tile::kScoreTiles][4] = {};
  add_scores<Tile>(score);
  if (first_token + Tile::kTokens > item.tokens.end) {
    ROOFCAST_UNROLL
    for (int i = 0; i < 4 * Tile::kScoreTiles; ++i) {
      const int token = first_token + i / 4 * kFragmentWidth + place_in_c(lane, i % 4).column;
      if (token >= item.tokens.end) score[i / 4][i % 4] = kMinusInfinity;
    }
  }
  float shrink[2];
  soften(score, latent.score_scale, sums.softmax, shrink);
  ROOFCAST_UNROLL
  for (int n = 0; n < Tile::kColumnTiles; ++n) {
    ROOFCAST_UNROLL
    for (int e = 0; e < 4; ++e) sums.output[n][e] *= shrink[e / 2];
  }
  const int first_chunk = warp_of<Tile>(thread).sharer * Tile::kColumns * 2 / kChunkBytes;
  const std::uint32_t values_at =
      tile + swizzled<Tile::kRowBytes>(lane % 16, first_chunk + lane / 16);
  ROOFCAST_UNROLL
  for (int step = 0; step < Tile::kTokens / kFragmentDepth; ++step) {
    const Quad probability = probability_operand<T>(score[2 * step], score[2 * step + 1]);
    ROOFCAST_UNROLL
    for (int part = 0; part < Tile::kColumnTiles / 2; ++part) {
      const ValueOperands<T> values =
          load_values<T, T, kLatentRow>(values_at, step * kFragmentDepth, part);
      ROOFCAST_UNROLL
      for (int n = 0; n < 2; ++n) {
        matrix_multiply_add<T>(sums.output[2 * part + n], probability, values.word[n][0],
                               values.word[n][1]);
      }
    }
  }
}

/// Each warp writes its columns: to the output if this CTA does the whole item, else to a part.
template <class T, class Tile>
ROOFCAST_DEVICE void write_latent(const LatentArguments& latent, const LatentItem& item,
                                  const LatentSums<Tile>& sums) {
  const int thread = computed_here(thread_index());
  const int lane = thread % kWarpThreads;
  const LatentWarp warp = warp_of<Tile>(thread);
  const std::int64_t first_row =
      static_cast<std::int64_t>(item.sequence) * latent.query_heads + item.first_head;
  const int first_pair = warp.sharer * Tile::kColumns / 2 + lane % 4;
  ROOFCAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row = warp.row + lane / 4 + 8 * half;
    const float sum = row_sum(sums.softmax.sum[half]);
    if (row >= item.rows) continue;
    const float factor = sum > 0 ? 1 / sum : 0.0F;
    const std::int64_t of_all = first_row + row;
    auto* output = static_cast<std::uint32_t*>(latent.output) + of_all * (kLatent / 2) + first_pair;
    FloatPair* part = part_output(latent.parts, of_all, row, item.part) + first_pair;
    ROOFCAST_UNROLL
    for (int n = 0; n < Tile::kColumnTiles; ++n) {
      const float low = sums.output[n][2 * half];
      const float high = sums.output[n][2 * half + 1];
      if (item.part.count == 1) {
        output[n * 4] = pack<T>(low * factor, high * factor);
      } else {
        part[n * 4] = {low, high};
      }
    }
    if (warp.sharer == 0 && lane % 4 == 0) {
      const float largest = sums.softmax.largest[half] == kMinusInfinity
                                ? kMinusInfinity
                                : sums.softmax.largest[half] * latent.score_scale;
      write_statistics(latent.parts, of_all, row, item.part, {largest, sum});
    }
  }
}

/// The item that this CTA does after `done` units of its share; without rows if none is left.
template <class Tile>
ROOFCAST_DEVICE LatentItem next_latent_item(const LatentArguments& latent, int done) {
  const ShareOfItem share =
      next_share(done, latent.sequences, latent.head_tiles,
                 [&](int sequence) { return visible_from(latent.length[sequence] - 1, 0); });
  const int first_head = share.item * Tile::kRows;
  const int left = latent.query_heads - first_head;
  return {.sequence = share.sequence,
          .first_head = first_head,
          .rows = left < Tile::kRows ? left : Tile::kRows,
          .tokens = share.tokens,
          .part = share.part,
          .units = share.units};
}

template <class T, class Tile>
ROOFCAST_DEVICE void walk_latent_tiles(const LatentArguments& latent, const LatentItem& item,
                                       LatentSums<Tile>& sums) {
  const std::uint32_t base = shared_base();
  const auto stage_at = [&](int stage) {
    return base + static_cast<std::uint32_t>(stage * Tile::kTileBytes);
  };
  std::uint32_t own_row = row_of_lane(latent, item, item.tokens.first);  // for the next copy
  const auto queue = [&](int stage, int token) {
    if (token < item.tokens.end) copy_latent_tile<Tile>(latent, own_row, stage_at(stage));
    commit_copies();  // empty beyond the end, so that groups can be counted
    own_row = row_of_lane(latent, item, token + Tile::kTokens);
  };
  barrier();  // the previous item's tiles are no longer read
  ROOFCAST_UNROLL
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    queue(stage, item.tokens.first + stage * Tile::kTokens);
  }

  LatentQuery<Tile> query;
  load_latent_query(latent, item, query);
  int stage = 0;
  for (int token = item.tokens.first; token < item.tokens.end; token += Tile::kTokens) {
    wait_copies<Tile::kStages - 2>();
    barrier();  // the tile has arrived; the previous one and its scores are no longer read
    queue(stage == 0 ? Tile::kStages - 1 : stage - 1, token + (Tile::kStages - 1) * Tile::kTokens);
    share_scores<T, Tile>(query, stage_at(stage));
    barrier();  // all parts of the scores are stored
    add_latent_tile<T, Tile>(latent, item, token, stage_at(stage), sums);
    stage = stage + 1 == Tile::kStages ? 0 : stage + 1;
  }
  wait_copies<0>();
}

/// One CTA of Tile::kThreads threads; works with any grid size.
template <class T, class Tile>
ROOFCAST_DEVICE void latent_decode(const LatentArguments& latent) {
  let_next_kernel_start();
  for (int done = 0;;) {
    LatentSums<Tile> sums{};
    {
      const LatentItem item = next_latent_item<Tile>(latent, done);
      if (item.units == 0) return;
      walk_latent_tiles<T, Tile>(latent, item, sums);
    }
    // Recomputed: the sums leave no registers to keep it.
    const LatentItem item = next_latent_item<Tile>(latent, done);
    write_latent<T, Tile>(latent, item, sums);
    done += item.units;
  }
}

}  // namespace roofcast::kernels::cuda
