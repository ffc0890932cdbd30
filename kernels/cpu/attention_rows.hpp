// Attention of a block of query rows of one sequence, on one thread: the common part of prefill,
// decode and latent decode.
//
// Keys are taken in tiles of kTileTokens and chunks of kChunkTokens, both counted from the first
// token of the sequence. Within a chunk the softmax is online over its tiles (FlashAttention, arXiv
// 2205.14135); chunks are computed apart and merged in ascending order, as Flash-Decoding merges
// its splits. Where one chunk ends another thread may take over, and nothing changes: a row goes
// through the same operations in the same order wherever its block begins and whoever computes it.
// A token that it does not see has the probability 0, which changes no sum.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

inline constexpr int kTileTokens = 64;
inline constexpr int kChunkTokens = 256;  // a multiple of kTileTokens
inline constexpr int kMaxBlockQueries = 64;

/// Keys and values where they lie, and queries and outputs, without element types.
struct AttentionView {
  Element element = Element::bf16;
  Element cache_element = Element::bf16;
  const void* query = nullptr;   // [tokens, query_heads, key_dim] within rows of query_stride
  void* output = nullptr;        // [tokens, query_heads, value_dim]
  const void* keys = nullptr;    // [pages, page_size, kv_heads, key_dim]
  const void* values = nullptr;  // as the keys; null: the first value_dim elements of each key
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

/// Query rows of one sequence. Each KV head of the block has the same rows: row r is of the token
/// r / group and the head r % group of that KV head's group.
struct QueryBlock {
  std::int64_t sequence = 0;
  std::int64_t first_token = 0;     // of the sequence's queries, among all of the call
  std::int64_t first_position = 0;  // of that token in its sequence
  Range kv_heads{};
  Range rows{};  // of each of these; in all at most kMaxBlockQueries

  std::int64_t rows_per_head() const { return rows.end - rows.begin; }
  std::int64_t heads() const { return kv_heads.end - kv_heads.begin; }
  std::int64_t all_rows() const { return heads() * rows_per_head(); }
};

/// Where row `row` of the block's state belongs, rows being counted by KV head and then by row.
struct QueryPlace {
  std::int64_t token = 0;  // among all of the call
  std::int64_t position = 0;
  std::int64_t head = 0;  // query head
};
QueryPlace place_of(const AttentionView& view, const QueryBlock& block, std::int64_t row);

/// Softmax so far of the rows of a block.
struct AttentionState {
  float largest[kMaxBlockQueries];                            // score
  float sum[kMaxBlockQueries];                                // of exp(score - largest)
  alignas(64) float output[kMaxBlockQueries * kMaxValueDim];  // [rows, value_dim], not yet divided
};

/// One row's softmax over some tokens.
struct AttentionPartial {
  float* output = nullptr;  // [value_dim]
  float* largest = nullptr;
  float* sum = nullptr;
};

/// Compiled for one instruction set.
struct AttentionFunctions {
  /// Tokens [tokens.begin, tokens.end) of the sequence into `state`; whole chunks, but for the last
  /// one, whose end is at least the number of tokens that the rows see.
  void (*attend)(const AttentionView& view, const QueryBlock& block, Range tokens,
                 AttentionState& state);
  /// Adds what `added` covers to `row`.
  void (*merge)(const AttentionPartial& row, const AttentionPartial& added, int value_dim);
};

AttentionFunctions attention_functions(Isa isa);

/// Divides by the sum and writes the outputs of a block.
void write_output(const AttentionView& view, const QueryBlock& block, const AttentionState& state);

/// Tokens that any row of the block sees.
Range visible_tokens(const AttentionView& view, const QueryBlock& block);

}  // namespace roofcast::kernels::cpu
