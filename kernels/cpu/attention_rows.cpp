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
constexpr int kMostLanes = 16;

/// What one block works on: keys, values and queries widened to floats and padded to whole vectors
/// with zeros, in L2.
struct alignas(64) Scratch {
  float query[kMostBlockQueries * kMostKeyDim];  // [rows, key_stride], times the score's scale
  float keys[kTileTokens * kMostKeyDim];         // [tokens, key_stride]
  float values[kTileTokens * kMostValueDim];     // [tokens, value_stride]
  float scores[kMostBlockQueries * kTileTokens];
  float largest[kMostBlockQueries];
  float sum[kMostBlockQueries];
  float output[kMostBlockQueries * kMostValueDim];  // [rows, output_stride], of the current chunk
};

/// Lengths of the rows of Scratch.
struct Strides {
  std::int64_t key = 0;
  std::int64_t value = 0;
  std::int64_t output = 0;
};

template <int N>
constexpr std::int64_t padded(std::int64_t count) {
  return (count + N - 1) / N * N;
}

/// Calls function(T{}) with the type of the element.
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
  for (std::int64_t r = block.rows.begin; r < block.rows.end; ++r) {
    const std::int64_t token = block.first_token + r / view.group();
    const std::int64_t head = block.kv_head * view.group() + r % view.group();
    const T* query =
        static_cast<const T*>(view.query) + token * view.query_stride + head * view.key_dim;
    float* row = scratch.query + (r - block.rows.begin) * strides.key;
    widen<N>(row, query, view.key_dim, strides.key);
    for (std::int64_t i = 0; i < strides.key; ++i) row[i] *= view.score_scale;
  }
}

/// Keys and values of `count` tokens from `first` on; further keys of the tile become zero.
template <int N, class T>
ROOFCAST_INLINE void gather_tile(const AttentionView& view, const QueryBlock& block, Range tokens,
                                 const Strides& strides, Scratch& scratch) {
  const std::int32_t* pages = view.page_table + block.sequence * view.pages_per_sequence;
  const std::int64_t in_page = (std::int64_t{1} << view.page_shift) - 1;
  const std::int64_t head_row = std::int64_t{view.kv_heads} * view.key_dim;
  const std::int64_t head = block.kv_head * view.key_dim;
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    const std::int64_t slot =
        (std::int64_t{pages[t >> view.page_shift]} << view.page_shift) + (t & in_page);
    const std::int64_t at = slot * head_row + head;
    const std::int64_t i = t - tokens.begin;
    widen<N>(scratch.keys + i * strides.key, static_cast<const T*>(view.keys) + at, view.key_dim,
             strides.key);
    if (view.values == nullptr) continue;
    widen<N>(scratch.values + i * strides.value, static_cast<const T*>(view.values) + at,
             view.value_dim, strides.value);
  }
  const std::int64_t count = tokens.end - tokens.begin;
  std::fill(scratch.keys + count * strides.key,
            scratch.keys + padded<kMostLanes>(count) * strides.key, 0.0F);
}

/// Scores of kRows rows with N / kRows tokens: N dot products, each summed lane by lane.
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

/// Turns a row's scores of a tile into probabilities relative to its largest score so far, and
/// brings what was summed before to the same. `seen` is within the tile.
ROOFCAST_INLINE void soften_row(float* scores, Range seen, float& largest, float& sum,
                                float* output, std::int64_t output_stride) {
  if (seen.begin >= seen.end) {
    std::fill(scores, scores + kTileTokens, 0.0F);
    return;
  }
  std::fill(scores, scores + seen.begin, kNone);
  std::fill(scores + seen.end, scores + kTileTokens, kNone);
  float lane[kMostLanes];
  for (int i = 0; i < kMostLanes; ++i) lane[i] = scores[i];
  for (int t = kMostLanes; t < kTileTokens; t += kMostLanes) {
    for (int i = 0; i < kMostLanes; ++i)
      lane[i] = lane[i] > scores[t + i] ? lane[i] : scores[t + i];
  }
  float most = largest;
  for (int i = 0; i < kMostLanes; ++i) most = most > lane[i] ? most : lane[i];
  for (int t = 0; t < kTileTokens; ++t) scores[t] = exponential(scores[t] - most);
  std::fill(scores, scores + seen.begin, 0.0F);
  std::fill(scores + seen.end, scores + kTileTokens, 0.0F);
  for (int i = 0; i < kMostLanes; ++i) lane[i] = scores[i];
  for (int t = kMostLanes; t < kTileTokens; t += kMostLanes) {
    for (int i = 0; i < kMostLanes; ++i) lane[i] += scores[t + i];
  }
  float added = 0;
  for (int i = 0; i < kMostLanes; ++i) added += lane[i];
  const float factor = exponential(largest - most);
  sum = sum * factor + added;
  largest = most;
  for (std::int64_t i = 0; i < output_stride; ++i) output[i] *= factor;
}

/// Adds probability times value of `count` tokens to kColumns vectors of kRows outputs.
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

/// Tokens of a tile that a row sees, counted from the tile's first.
ROOFCAST_INLINE Range seen_by(const AttentionView& view, std::int64_t position, Range tile) {
  const std::int64_t first =
      view.window == 0 ? 0 : std::max<std::int64_t>(0, position - view.window + 1);
  return {.begin = std::clamp(first - tile.begin, std::int64_t{0}, tile.end - tile.begin),
          .end = std::clamp(position + 1 - tile.begin, std::int64_t{0}, tile.end - tile.begin)};
}

template <int N>
ROOFCAST_INLINE void add_tile(const AttentionView& view, const QueryBlock& block, Range tile,
                              const Strides& strides, Scratch& scratch) {
  with_cached(
      view.cache_element, [&]<class T>(T) __attribute__((always_inline)) {
        gather_tile<N, T>(view, block, tile, strides, scratch);
      });
  const std::int64_t rows = block.rows.end - block.rows.begin;
  const std::int64_t count = tile.end - tile.begin;
  for_row_groups(
      rows, [&](auto group, std::int64_t r) __attribute__((always_inline)) {
        score_rows<N, group>(scratch.query + r * strides.key, strides, scratch.keys,
                             padded<kMostLanes>(count), scratch.scores + r * kTileTokens);
      });
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t position = block.first_position + (block.rows.begin + r) / view.group();
    soften_row(scratch.scores + r * kTileTokens, seen_by(view, position, tile), scratch.largest[r],
               scratch.sum[r], scratch.output + r * strides.output, strides.output);
  }
  const float* values = view.values == nullptr ? scratch.keys : scratch.values;
  for_row_groups(
      rows, [&](auto group, std::int64_t r) __attribute__((always_inline)) {
        add_value_rows<N, group>(scratch.scores + r * kTileTokens, values, count, strides,
                                 scratch.output + r * strides.output);
      });
}

/// Only one copy of it an instruction set, so that all merges round alike.
ROOFCAST_INLINE void merge_row(const AttentionPartial& row, const AttentionPartial& added,
                               int value_dim) {
  if (*added.largest == kNone) return;
  const float most = std::max(*row.largest, *added.largest);
  const float old_factor = exponential(*row.largest - most);
  const float new_factor = exponential(*added.largest - most);
  *row.largest = most;
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
  const std::int64_t rows = block.rows.end - block.rows.begin;
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
  for (std::int64_t chunk = begin; chunk < end; chunk += kChunkTokens) {
    std::fill(scratch.largest, scratch.largest + rows, kNone);
    std::fill(scratch.sum, scratch.sum + rows, 0.0F);
    std::fill(scratch.output, scratch.output + rows * strides.output, 0.0F);
    const std::int64_t chunk_end = std::min(chunk + kChunkTokens, end);
    for (std::int64_t t = chunk; t < chunk_end; t += kTileTokens) {
      const Range tile{.begin = t, .end = std::min(t + kTileTokens, chunk_end)};
      if (tile.end > visible.begin) add_tile<N>(view, block, tile, strides, scratch);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      merge({state.output + r * view.value_dim, &state.largest[r], &state.sum[r]},
            {scratch.output + r * strides.output, &scratch.largest[r], &scratch.sum[r]},
            view.value_dim);
    }
  }
}

// ---- one copy for each instruction set

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

void write_output(const AttentionView& view, const QueryBlock& block, const AttentionState& state) {
  with_plain(view.element, [&]<class T>(T) {
    for (std::int64_t r = block.rows.begin; r < block.rows.end; ++r) {
      const std::int64_t i = r - block.rows.begin;
      const std::int64_t token = block.first_token + r / view.group();
      const std::int64_t head = block.kv_head * view.group() + r % view.group();
      T* output = static_cast<T*>(view.output) + (token * view.query_heads + head) * view.value_dim;
      const float factor = view.value_scale / state.sum[i];
      for (int d = 0; d < view.value_dim; ++d) {
        output[d] = from_float<T>(state.output[i * view.value_dim + d] * factor);
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
