#include "kernels/cpu/attention_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/vector.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr int kMaxLanes = 16;

/// Working memory of one block, in L2: keys, values and queries as floats, padded to whole vectors
/// with zeros.
struct alignas(64) Scratch {
  float query[kMaxBlockQueries * kMaxKeyDim];  // [rows, key_stride], times the score's scale
  float keys[kTileTokens * kMaxKeyDim];        // [tokens, key_stride]
  float values[kTileTokens * kMaxValueDim];    // [tokens, value_stride]
  float scores[kMaxBlockQueries * kTileTokens];
  float largest[kMaxBlockQueries];
  float sum[kMaxBlockQueries];
  float output[kMaxBlockQueries * kMaxValueDim];  // [rows, output_stride], for the current chunk
};

/// Row lengths in Scratch.
struct Strides {
  std::int64_t key = 0;
  std::int64_t value = 0;
  std::int64_t output = 0;
};

template <int N>
constexpr std::int64_t padded(std::int64_t count) {
  return (count + N - 1) / N * N;
}

/// Calls function(T{}) with the element's type.
template <class Function>
ROOFCAST_INLINE void with_cached(Element element, const Function& function) {
  if (element == Element::fp32) function(float{});
  if (element == Element::fp16) function(Fp16{});
  if (element == Element::bf16) function(Bf16{});
  if (element == Element::fp8_e4m3) function(Fp8E4M3{});
}

// ---- the four steps of a tile

template <int N, class T>
ROOFCAST_INLINE void widen_queries(const AttentionView& view, const QueryBlock& block,
                                   const Strides& strides, Scratch& scratch) {
  for (std::int64_t r = 0; r < block.all_rows(); ++r) {
    const QueryPlace place = place_of(view, block, r);
    const T* query = static_cast<const T*>(view.query) + place.token * view.query_stride +
                     place.head * view.key_dim;
    float* row = scratch.query + r * strides.key;
    widen<N>(row, query, view.key_dim, strides.key);
    for (std::int64_t i = 0; i < strides.key; ++i) row[i] *= view.score_scale;
  }
}

/// Index of the first element of a token's row in the cache, for its first KV head.
ROOFCAST_INLINE std::int64_t cache_row(const AttentionView& view, std::int64_t sequence,
                                       std::int64_t token) {
  const std::int64_t in_page = (std::int64_t{1} << view.page_shift) - 1;
  const std::int64_t page =
      view.page_table[sequence * view.pages_per_sequence + (token >> view.page_shift)];
  const std::int64_t slot = (page << view.page_shift) + (token & in_page);
  return slot * view.kv_heads * view.key_dim;
}

/// Prefetches piece `index` of `pieces` of a tile to L2 while another tile is computed, in memory
/// order. The rows of a KV head are short and far apart: when they are read head by head, hardware
/// prefetching fails and a core gets half the bandwidth or less (5.6 against 12 GB/s for rows of
/// 256 and 3072 bytes, Granite Rapids).
ROOFCAST_INLINE void prefetch_tile(const AttentionView& view, const QueryBlock& block, Range tile,
                                   std::int64_t index, std::int64_t pieces) {
  constexpr std::int64_t kLine = 64;
  constexpr int kToL2 = 2;
  const auto size = static_cast<std::int64_t>(size_of(view.cache_element));
  const std::int64_t count = tile.end - tile.begin;
  const std::int64_t last = tile.begin + count * (index + 1) / pieces;
  for (const void* tensor : {view.keys, view.values}) {
    if (tensor == nullptr) continue;
    for (std::int64_t t = tile.begin + count * index / pieces; t < last; ++t) {
      const auto* row =
          static_cast<const char*>(tensor) + cache_row(view, block.sequence, t) * size;
      const char* end = row + block.kv_heads.end * view.key_dim * size;
      for (row += block.kv_heads.begin * view.key_dim * size; row < end; row += kLine) {
        __builtin_prefetch(row, 0, kToL2);
      }
    }
  }
}

/// Loads the keys and values of a KV head; keys are zero-padded to whole vectors of tokens.
template <int N, class T>
ROOFCAST_INLINE void gather_tile(const AttentionView& view, const QueryBlock& block,
                                 std::int64_t kv_head, Range tokens, const Strides& strides,
                                 Scratch& scratch) {
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    const std::int64_t at = cache_row(view, block.sequence, t) + kv_head * view.key_dim;
    const std::int64_t i = t - tokens.begin;
    widen<N>(scratch.keys + i * strides.key, static_cast<const T*>(view.keys) + at, view.key_dim,
             strides.key);
    if (view.values == nullptr) continue;
    widen<N>(scratch.values + i * strides.value, static_cast<const T*>(view.values) + at,
             view.value_dim, strides.value);
  }
  const std::int64_t count = tokens.end - tokens.begin;
  std::fill(scratch.keys + count * strides.key,
            scratch.keys + padded<kMaxLanes>(count) * strides.key, 0.0F);
}

/// Scores of kRows rows with N / kRows tokens: N dot products, each summed in separate lanes.
template <int N, int kRows>
ROOFCAST_INLINE void score_rows(const float* query, const Strides& strides, const float* keys,
                                std::int64_t tokens, float* scores) {
  constexpr int kKeys = N / kRows;
  for (std::int64_t t = 0; t < tokens; t += kKeys) {
    Floats<N> sum[N] = {};
    for (std::int64_t d = 0; d < strides.key; d += N) {
      Floats<N> q[kRows];
      Floats<N> k;
      ROOFCAST_UNROLL
      for (int r = 0; r < kRows; ++r) load<N>(q[r], query + r * strides.key + d);
      ROOFCAST_UNROLL
      for (int c = 0; c < kKeys; ++c) {
        load<N>(k, keys + (t + c) * strides.key + d);
        ROOFCAST_UNROLL
        for (int r = 0; r < kRows; ++r) sum[r * kKeys + c] += q[r] * k;
      }
    }
    Floats<N> total;
    sum_each<float, N>(total, sum);
    ROOFCAST_UNROLL
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(scores + r * kTileTokens + t, reinterpret_cast<const float*>(&total) + r * kKeys,
                  kKeys * sizeof(float));
    }
  }
}

/// Converts a row's scores of a tile to probabilities relative to its largest score so far, and
/// rescales the previous sums to it. `seen` is within the tile.
ROOFCAST_INLINE void soften_row(float* scores, Range seen, float& largest, float& sum,
                                float* output, std::int64_t output_stride) {
  if (seen.begin >= seen.end) {
    std::fill(scores, scores + kTileTokens, 0.0F);
    return;
  }
  std::fill(scores, scores + seen.begin, kNone);
  std::fill(scores + seen.end, scores + kTileTokens, kNone);
  float lane[kMaxLanes];
  for (int i = 0; i < kMaxLanes; ++i) lane[i] = scores[i];
  for (int t = kMaxLanes; t < kTileTokens; t += kMaxLanes) {
    for (int i = 0; i < kMaxLanes; ++i) lane[i] = lane[i] > scores[t + i] ? lane[i] : scores[t + i];
  }
  float max = largest;
  for (int i = 0; i < kMaxLanes; ++i) max = max > lane[i] ? max : lane[i];
  for (int t = 0; t < kTileTokens; ++t) scores[t] = exponential(scores[t] - max);
  std::fill(scores, scores + seen.begin, 0.0F);
  std::fill(scores + seen.end, scores + kTileTokens, 0.0F);
  for (int i = 0; i < kMaxLanes; ++i) lane[i] = scores[i];
  for (int t = kMaxLanes; t < kTileTokens; t += kMaxLanes) {
    for (int i = 0; i < kMaxLanes; ++i) lane[i] += scores[t + i];
  }
  float added = 0;
  for (int i = 0; i < kMaxLanes; ++i) added += lane[i];
  const float factor = exponential(largest - max);
  sum = sum * factor + added;
  largest = max;
  for (std::int64_t i = 0; i < output_stride; ++i) output[i] *= factor;
}

/// Adds probability times value for `count` tokens to kColumns vectors of kRows outputs.
template <int N, int kRows, int kColumns>
ROOFCAST_INLINE void add_values(const float* probability, const float* values, std::int64_t count,
                                const Strides& strides, float* output) {
  Floats<N> sum[kRows][kColumns];
  ROOFCAST_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ROOFCAST_UNROLL
    for (int c = 0; c < kColumns; ++c) load<N>(sum[r][c], output + r * strides.output + c * N);
  }
  for (std::int64_t t = 0; t < count; ++t) {
    Floats<N> value[kColumns];
    ROOFCAST_UNROLL
    for (int c = 0; c < kColumns; ++c) load<N>(value[c], values + t * strides.value + c * N);
    ROOFCAST_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float p = probability[r * kTileTokens + t];
      ROOFCAST_UNROLL
      for (int c = 0; c < kColumns; ++c) sum[r][c] += p * value[c];
    }
  }
  ROOFCAST_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ROOFCAST_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      std::memcpy(output + r * strides.output + c * N, &sum[r][c], sizeof sum[r][c]);
    }
  }
}

template <int N, int kRows>
ROOFCAST_INLINE void add_value_rows(const float* probability, const float* values,
                                    std::int64_t count, const Strides& strides, float* output) {
  constexpr int kColumns = 4;
  std::int64_t d = 0;
  for (; d + kColumns * N <= strides.output; d += kColumns * N) {
    add_values<N, kRows, kColumns>(probability, values + d, count, strides, output + d);
  }
  for (; d < strides.output; d += N) {
    add_values<N, kRows, 1>(probability, values + d, count, strides, output + d);
  }
}

/// Number of calls that for_row_groups() makes.
constexpr std::int64_t row_groups(std::int64_t rows) { return rows / 4 + rows % 4 / 2 + rows % 2; }

/// Calls function(rows as a constant, first row) for groups of 4, 2 and 1 rows.
template <class Function>
ROOFCAST_INLINE void for_row_groups(std::int64_t rows, const Function& function) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) function(std::integral_constant<int, 4>(), r);
  if (r + 2 <= rows) {
    function(std::integral_constant<int, 2>(), r);
    r += 2;
  }
  if (r < rows) function(std::integral_constant<int, 1>(), r);
}

// ---- tiles, chunks, rows

/// The tile starting at `token`, limited to tokens before `end`; empty beyond them.
constexpr Range tile_at(std::int64_t token, std::int64_t end) {
  return {.begin = std::min(token, end), .end = std::min(token + kTileTokens, end)};
}

/// Tokens of a tile that a row attends to, counted from the tile's first.
ROOFCAST_INLINE Range seen_by(const AttentionView& view, std::int64_t position, Range tile) {
  const std::int64_t first =
      view.window == 0 ? 0 : std::max<std::int64_t>(0, position - view.window + 1);
  return {.begin = std::clamp(first - tile.begin, std::int64_t{0}, tile.end - tile.begin),
          .end = std::clamp(position + 1 - tile.begin, std::int64_t{0}, tile.end - tile.begin)};
}

/// The tile to compute, and the one to prefetch meanwhile.
struct Tiles {
  Range now{};
  Range next{};
};

template <int N>
ROOFCAST_INLINE void add_head(const AttentionView& view, const QueryBlock& block,
                              std::int64_t kv_head, const Tiles& tiles, const Strides& strides,
                              Scratch& scratch) {
  with_cached(
      view.cache_element, [&]<class T>(T) __attribute__((always_inline)) {
        gather_tile<N, T>(view, block, kv_head, tiles.now, strides, scratch);
      });
  const std::int64_t rows = block.rows_per_head();
  const std::int64_t head = kv_head - block.kv_heads.begin;
  const std::int64_t first = head * rows;
  const std::int64_t count = tiles.now.end - tiles.now.begin;
  const std::int64_t groups = row_groups(rows);
  std::int64_t piece = head * groups;
  for_row_groups(
      rows, [&](auto group, std::int64_t r) __attribute__((always_inline)) {
        prefetch_tile(view, block, tiles.next, piece++, block.heads() * groups);
        score_rows<N, group>(scratch.query + (first + r) * strides.key, strides, scratch.keys,
                             padded<kMaxLanes>(count), scratch.scores + r * kTileTokens);
      });
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t position = place_of(view, block, first + r).position;
    soften_row(scratch.scores + r * kTileTokens, seen_by(view, position, tiles.now),
               scratch.largest[first + r], scratch.sum[first + r],
               scratch.output + (first + r) * strides.output, strides.output);
  }
  const float* values = view.values == nullptr ? scratch.keys : scratch.values;
  for_row_groups(
      rows, [&](auto group, std::int64_t r) __attribute__((always_inline)) {
        add_value_rows<N, group>(scratch.scores + r * kTileTokens, values, count, strides,
                                 scratch.output + (first + r) * strides.output);
      });
}

/// Only one copy per instruction set, so that all merges round alike.
ROOFCAST_INLINE void merge_row(const AttentionPartial& row, const AttentionPartial& added,
                               int value_dim) {
  if (*added.largest == kNone) return;
  const float max = std::max(*row.largest, *added.largest);
  const float old_factor = exponential(*row.largest - max);
  const float new_factor = exponential(*added.largest - max);
  *row.largest = max;
  *row.sum = *row.sum * old_factor + *added.sum * new_factor;
  for (int i = 0; i < value_dim; ++i) {
    row.output[i] = row.output[i] * old_factor + added.output[i] * new_factor;
  }
}

template <int N>
ROOFCAST_INLINE void attend_block(const AttentionView& view, const QueryBlock& block, Range tokens,
                                  AttentionState& state,
                                  decltype(AttentionFunctions::merge) merge) {
  Scratch scratch;
  const std::int64_t rows = block.all_rows();
  const bool shared = view.values == nullptr;
  const Strides strides{.key = padded<N>(view.key_dim),
                        .value = shared ? padded<N>(view.key_dim) : padded<N>(view.value_dim),
                        .output = padded<N>(view.value_dim)};
  with_cached(
      view.element, [&]<class T>(T) __attribute__((always_inline)) {
        widen_queries<N, T>(view, block, strides, scratch);
      });
  std::fill(state.largest, state.largest + rows, kNone);
  std::fill(state.sum, state.sum + rows, 0.0F);
  std::fill(state.output, state.output + rows * view.value_dim, 0.0F);
  const Range visible = visible_tokens(view, block);
  const std::int64_t begin = std::max(tokens.begin, visible.begin / kChunkTokens * kChunkTokens);
  const std::int64_t end = std::min(tokens.end, visible.end);
  prefetch_tile(view, block,
                tile_at(std::max(begin, visible.begin / kTileTokens * kTileTokens), end), 0, 1);
  for (std::int64_t chunk = begin; chunk < end; chunk += kChunkTokens) {
    std::fill(scratch.largest, scratch.largest + rows, kNone);
    std::fill(scratch.sum, scratch.sum + rows, 0.0F);
    std::fill(scratch.output, scratch.output + rows * strides.output, 0.0F);
    const std::int64_t chunk_end = std::min(chunk + kChunkTokens, end);
    for (std::int64_t t = chunk; t < chunk_end; t += kTileTokens) {
      const Tiles tiles{.now = tile_at(t, end), .next = tile_at(t + kTileTokens, end)};
      if (tiles.now.end <= visible.begin) continue;
      for (std::int64_t head = block.kv_heads.begin; head < block.kv_heads.end; ++head) {
        add_head<N>(view, block, head, tiles, strides, scratch);
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      merge({state.output + r * view.value_dim, &state.largest[r], &state.sum[r]},
            {scratch.output + r * strides.output, &scratch.largest[r], &scratch.sum[r]},
            view.value_dim);
    }
  }
}

// ---- one copy per instruction set

[[gnu::noinline]] void merge_portable(const AttentionPartial& row, const AttentionPartial& added,
                                      int value_dim) {
  merge_row(row, added, value_dim);
}
[[gnu::noinline]] ROOFCAST_TARGET_AVX2 void merge_avx2(const AttentionPartial& row,
                                                       const AttentionPartial& added,
                                                       int value_dim) {
  merge_row(row, added, value_dim);
}
[[gnu::noinline]] ROOFCAST_TARGET_AVX512 void merge_avx512(const AttentionPartial& row,
                                                           const AttentionPartial& added,
                                                           int value_dim) {
  merge_row(row, added, value_dim);
}

void attend_portable(const AttentionView& view, const QueryBlock& block, Range tokens,
                     AttentionState& state) {
  attend_block<4>(view, block, tokens, state, merge_portable);
}
ROOFCAST_TARGET_AVX2 void attend_avx2(const AttentionView& view, const QueryBlock& block,
                                      Range tokens, AttentionState& state) {
  attend_block<8>(view, block, tokens, state, merge_avx2);
}
ROOFCAST_TARGET_AVX512 void attend_avx512(const AttentionView& view, const QueryBlock& block,
                                          Range tokens, AttentionState& state) {
  attend_block<16>(view, block, tokens, state, merge_avx512);
}

}  // namespace

AttentionFunctions attention_functions(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return {.attend = attend_portable, .merge = merge_portable};
    case Isa::avx2:
      return {.attend = attend_avx2, .merge = merge_avx2};
    case Isa::avx512:
    case Isa::avx512_bf16:
      return {.attend = attend_avx512, .merge = merge_avx512};
  }
  return {};
}

QueryPlace place_of(const AttentionView& view, const QueryBlock& block, std::int64_t row) {
  const std::int64_t kv_head = block.kv_heads.begin + row / block.rows_per_head();
  const std::int64_t r = block.rows.begin + row % block.rows_per_head();
  return {.token = block.first_token + r / view.group(),
          .position = block.first_position + r / view.group(),
          .head = kv_head * view.group() + r % view.group()};
}

void write_output(const AttentionView& view, const QueryBlock& block, const AttentionState& state) {
  with_plain(view.element, [&]<class T>(T) {
    for (std::int64_t r = 0; r < block.all_rows(); ++r) {
      const QueryPlace place = place_of(view, block, r);
      T* output = static_cast<T*>(view.output) +
                  (place.token * view.query_heads + place.head) * view.value_dim;
      const float factor = view.value_scale / state.sum[r];
      for (int d = 0; d < view.value_dim; ++d) {
        output[d] = from_float<T>(state.output[r * view.value_dim + d] * factor);
      }
    }
  });
}

Range visible_tokens(const AttentionView& view, const QueryBlock& block) {
  const std::int64_t first = block.first_position + block.rows.begin / view.group();
  const std::int64_t last = block.first_position + (block.rows.end - 1) / view.group();
  const std::int64_t begin =
      view.window == 0 ? 0 : std::max<std::int64_t>(0, first - view.window + 1);
  return {.begin = begin, .end = last + 1};
}

}  // namespace roofcast::kernels::cpu
