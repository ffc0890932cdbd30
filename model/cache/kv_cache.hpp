// KV cache and recurrent state: bytes per token, per sequence and per block, per rank. Formulas:
// bytes/token/layer = 2 * kv_heads * head_dim * element bytes (GQA); (kv_lora_rank + rope_dim) *
// element bytes for latent attention (arXiv 2405.04434, table 1).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Where the cache puts layers with chunked attention (Llama 4) relative to full-attention layers.
enum class ChunkedLayers {
  apart,    // in their own groups, which free what is before the chunk
  as_full,  // in one group with the others, which keeps whole sequences
};

/// Bytes that one layer stores on one rank: per token for attention, per sequence for recurrent
/// state.
struct CacheNeed {
  Bytes per_token{};     // attention K and V (or latent, plus an indexer's keys)
  AttentionSpan span{};  // how many tokens must be kept
  Bytes per_sequence{};  // recurrent state (convolution and SSM)
};

/// Whether layers keep compressed entries of the tokens (DeepSeek-V4).
bool has_compressed_cache(const Transformer& model);

/// Whether only a window of the tokens is kept: sliding or chunked attention.
bool keeps_window(const AttentionSpan& span);

/// `cache_dtype` is the KV element type (fp8 halves it); the state uses model.state_dtype.
CacheNeed cache_need(const Layer& layer, const Transformer& model, DType cache_dtype, int tensor);

/// Bytes that one more token adds while no window is full ("naive" for models with windows): the
/// figure usually quoted as KV bytes per token. Whole model at tensor = 1.
Bytes kv_bytes_per_token(const Transformer& model, DType cache_dtype, int tensor = 1);

/// The same for layers that keep all tokens (no sliding or chunked windows).
Bytes full_attention_kv_bytes_per_token(const Transformer& model, DType cache_dtype,
                                        int tensor = 1);

/// Recurrent state of one sequence.
Bytes state_bytes_per_sequence(const Transformer& model, int tensor = 1);

/// Everything that a sequence of `tokens` tokens holds: windows capped, state included. Not rounded
/// to blocks.
Bytes cache_bytes_per_sequence(const Transformer& model, DType cache_dtype, std::int64_t tokens,
                               int tensor = 1);

/// How the pages of the caches that DeepSeek-V4 keeps share a block (cache_layout.cpp).
enum class CompressedBlocks {
  tuples,   // as many of every page size
  slots,    // as many of each page size as the group that has most of it
  overlaid  // as much as the largest group has
};

/// Rules of an engine's cache besides the size of a block.
struct CacheRules {
  ChunkedLayers chunked = ChunkedLayers::apart;
  std::int64_t state_rows = 1;  // that each group of recurrent layers keeps per sequence
  /// SGLang: one pool of tokens for all layers, in which those with windows have room for this
  /// share of the tokens (1: they keep all of them); recurrent states are elsewhere.
  std::optional<double> window_share{};
  /// Ranks that share the tokens of each sequence (vLLM's decode context parallelism): a block then
  /// holds as many more. One group of layers only.
  std::int64_t context_ranks = 1;
  CompressedBlocks compressed = CompressedBlocks::tuples;
};

/// One pool of equal pages shared by groups of layers, as vLLM V1 lays it out (kv_cache_utils,
/// v0.11 and later). A uniform model has one group with all layers.
struct CacheGroup {
  std::int64_t layers = 0;
  AttentionSpan span{};    // attention groups only
  bool recurrent = false;  // state group: `rows_per_sequence` rows at any length
  std::int64_t rows_per_sequence = 0;
  /// Tokens per block of this group if it differs (layers with narrower K and V put more tokens on
  /// a page); 0: CacheLayout::block_tokens.
  std::int64_t block_tokens = 0;
  /// Bytes of its layers' pages over those of the first group, if they differ (DeepSeek-V4).
  double page_share = 1.0;
};

struct CacheLayout {
  std::int64_t block_tokens = 16;   // tokens per block (enlarged for models with recurrent state)
  Bytes page{};                     // bytes of one block of one layer
  std::int64_t layers_per_row = 0;  // group size: layers that share one block id
  std::vector<CacheGroup> groups{};
  /// SGLang: tokens of a sequence that layers with windows keep in a pool of their own, and that
  /// pool's tokens over those of the other layers' pool. 0: no such pool.
  std::int64_t pooled_window = 0;
  double pooled_share = 1.0;

  /// Bytes of one block id over all layers that share it.
  Bytes row_bytes() const { return page * static_cast<double>(layers_per_row); }
};

/// How layers are grouped: by cache type; the group size is the smallest type's layer count (the
/// largest if that is under 1.5 times the smallest); attention blocks are enlarged until a page
/// holds the state. Only the layers of the pipeline stage with the most cache. A model without a
/// cache has no groups. Neglects kernels that need block sizes other than multiples of 16.
CacheLayout cache_layout(const Transformer& model, DType cache_dtype, const Parallelism& parallel,
                         std::int64_t block_tokens, const CacheRules& rules = {});

/// Block ids that the engine reserves for a sequence of up to `tokens` tokens (max_model_len when
/// it checks that one fits and prints its maximum concurrency), over all groups. `in_flight` is the
/// most tokens that one step may add to it (max_num_batched_tokens): windows keep that many more,
/// and a sliding window always one more block.
std::int64_t reserved_rows_per_sequence(const CacheLayout& layout, std::int64_t tokens,
                                        std::int64_t in_flight);

/// The same in block ids of the first group, each group's weighed by its page_share: what vLLM's
/// log divides the blocks by where groups' pages differ.
std::int64_t printed_rows_per_sequence(const CacheLayout& layout, std::int64_t tokens,
                                       std::int64_t in_flight);

/// Maximum block ids that a sequence of `tokens` tokens holds, over all groups: as reserved, but
/// never more blocks in a group than its tokens fill.
std::int64_t rows_per_sequence(const CacheLayout& layout, std::int64_t tokens,
                               std::int64_t in_flight);

}  // namespace roofcast
