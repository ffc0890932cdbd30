// Attention of a block of query rows of one sequence, on one thread: the common part of prefill,
// decode and latent decode.
//
// Keys are processed in tiles of kTileTokens and chunks of kChunkTokens, both counted from the
// first token of the sequence. Within a chunk the softmax is online over its tiles (FlashAttention,
// arXiv 2205.14135); chunks are computed separately and merged in ascending order, as
// Flash-Decoding merges its splits. Another thread can continue at any chunk boundary with the same
// result: a row goes through the same operations in the same order wherever its block starts and
// whichever thread computes it. A token that it does not attend to has probability 0, which changes
// no sum.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

inline constexpr int kTileTokens = 64;
inline constexpr int kChunkTokens = 256;  // a multiple of kTileTokens
inline constexpr int kMaxBlockQueries = 64;

/// Pointers to keys, values, queries and outputs, without element types.
struct AttentionView {
  Element element = Element::bf16;
  Element cache_element = Element::bf16;
  const void* query = nullptr;   // [tokens, query_heads, key_dim] within rows of query_stride
  void* output = nullptr;        // [tokens, query_heads, value_dim]
  const void* keys = nullptr;    // [pages, page_size, kv_heads, key_dim]
  const void* values = nullptr;  // like the keys; null: the first value_dim elements of each key
  const std::int32_t* page_table = nullptr;
  std::int64_t query_stride = 0;
  std::int64_t pages_per_sequence = 0;
  int page_shift = 0;  // log2(page_size)
  int query_heads = 0;
  int kv_heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  float score_scale = 0;  // of query times stored key
  float value_scale = 1;
  int window = 0;

  std::int64_t group() const { return query_heads / kv_heads; }
};

/// The view of prefill and of decode over a paged cache.
template <class Attention>
AttentionView paged_view(const Attention& attention) {
  const PagedCache& cache = attention.cache;
  const std::int64_t row = std::int64_t{attention.query_heads} * cache.head_dim;
  return {.element = attention.element,
          .cache_element = cache.element,
          .query = attention.query,
          .output = attention.output,
          .keys = cache.keys,
          .values = cache.values,
          .page_table = cache.page_table,
          .query_stride = attention.query_stride == 0 ? row : attention.query_stride,
          .pages_per_sequence = cache.pages_per_sequence,
          .page_shift = std::countr_zero(static_cast<unsigned>(cache.page_size)),
          .query_heads = attention.query_heads,
          .kv_heads = cache.kv_heads,
          .key_dim = cache.head_dim,
          .value_dim = cache.head_dim,
          .score_scale = attention.scale * cache.key_scale,
          .value_scale = cache.value_scale,
          .window = attention.window};
}

/// Query rows of one sequence. Each KV head in the block has the same rows: row r is token r /
/// group and head r % group of that KV head's group.
struct QueryBlock {
  std::int64_t sequence = 0;
  std::int64_t first_token = 0;     // of the sequence's queries, among all of the call
  std::int64_t first_position = 0;  // of that token in its sequence
  Range kv_heads{};
  Range rows{};  // per KV head; at most kMaxBlockQueries in total

  std::int64_t rows_per_head() const { return rows.end - rows.begin; }
  std::int64_t heads() const { return kv_heads.end - kv_heads.begin; }
  std::int64_t all_rows() const { return heads() * rows_per_head(); }
};

/// The token and head of row `row` of the block's state; rows are counted by KV head, then by row.
struct QueryPlace {
  std::int64_t token = 0;  // among all of the call
  std::int64_t position = 0;
  std::int64_t head = 0;  // query head
};
QueryPlace place_of(const AttentionView& view, const QueryBlock& block, std::int64_t row);

/// Running softmax of the rows of a block.
struct AttentionState {
  float largest[kMaxBlockQueries];                            // score
  float sum[kMaxBlockQueries];                                // of exp(score - largest)
  alignas(64) float output[kMaxBlockQueries * kMaxValueDim];  // [rows, value_dim], undivided
};

/// One row's softmax over a subset of tokens.
struct AttentionPartial {
  float* output = nullptr;  // [value_dim]
  float* largest = nullptr;
  float* sum = nullptr;
};

/// Functions compiled for one instruction set.
struct AttentionFunctions {
  /// Adds tokens [tokens.begin, tokens.end) of the sequence to `state`: whole chunks, except the
  /// last, which may end at any token from the number that the rows attend to.
  void (*attend)(const AttentionView& view, const QueryBlock& block, Range tokens,
                 AttentionState& state);
  /// Merges `added` into `row`.
  void (*merge)(const AttentionPartial& row, const AttentionPartial& added, int value_dim);
};

AttentionFunctions attention_functions(Isa isa);

/// Divides by the sum and writes the outputs of a block.
void write_output(const AttentionView& view, const QueryBlock& block, const AttentionState& state);

/// Tokens that at least one row of the block attends to.
Range visible_tokens(const AttentionView& view, const QueryBlock& block);

}  // namespace roofcast::kernels::cpu
