// Decode and latent decode: one query token per sequence. A block has as many heads of a sequence
// as fit, so that the cache is read in long rows. If there are fewer sequences than the threads
// need, threads also share the chunks of each sequence, whose partial results are merged from the
// workspace once all are done, and then the heads.
#include <algorithm>
#include <bit>

#include "kernels/ceil_divide.hpp"
#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/attention_rows.hpp"

namespace roofcast::kernels::cpu {
namespace {

AttentionView view_of(const LatentDecode& attention) {
  const int key_dim = attention.latent + attention.rotary;
  return {.element = attention.element,
          .cache_element = attention.element,
          .query = attention.query,
          .output = attention.output,
          .keys = attention.cache,
          .page_table = attention.page_table,
          .query_stride = std::int64_t{attention.query_heads} * key_dim,
          .pages_per_sequence = attention.pages_per_sequence,
          .page_shift = std::countr_zero(static_cast<unsigned>(attention.page_size)),
          .query_heads = attention.query_heads,
          .kv_heads = 1,
          .key_dim = key_dim,
          .value_dim = attention.latent,
          .score_scale = attention.scale};
}

/// State shared by the threads.
struct Decode {
  AttentionView view{};
  AttentionFunctions functions{};
  const std::int32_t* length = nullptr;
  std::int64_t sequences = 0;
  std::int64_t max_splits = 1;  // room in the workspace
  float* workspace = nullptr;   // [sequences, query_heads, max_splits, value_dim + 2]
  std::int64_t block_kv_heads = 1;

  /// Blocks into which a group's heads are divided: 1, except for very large groups.
  std::int64_t group_blocks() const { return ceil_divide(view.group(), kMaxBlockQueries); }
  std::int64_t blocks_per_sequence() const {
    return ceil_divide(view.kv_heads, block_kv_heads) * group_blocks();
  }
  std::int64_t blocks() const { return sequences * blocks_per_sequence(); }

  QueryBlock block(std::int64_t index) const {
    const std::int64_t sequence = index / blocks_per_sequence();
    const std::int64_t in_sequence = index % blocks_per_sequence();
    const std::int64_t kv_head = in_sequence / group_blocks() * block_kv_heads;
    const std::int64_t row = in_sequence % group_blocks() * kMaxBlockQueries;
    return {.sequence = sequence,
            .first_token = sequence,
            .first_position = length[sequence] - 1,
            .kv_heads = {.begin = kv_head,
                         .end = std::min<std::int64_t>(kv_head + block_kv_heads, view.kv_heads)},
            .rows = {.begin = row, .end = std::min(row + kMaxBlockQueries, view.group())}};
  }

  AttentionPartial partial(const QueryBlock& block, std::int64_t row, std::int64_t split) const {
    const std::int64_t head = place_of(view, block, row).head;
    const std::int64_t index = (block.sequence * view.query_heads + head) * max_splits + split;
    float* at = workspace + index * (view.value_dim + 2);
    return {.output = at, .largest = at + view.value_dim, .sum = at + view.value_dim + 1};
  }
};

AttentionPartial row_of(const Decode& decode, std::int64_t row, AttentionState& state) {
  return {.output = state.output + row * decode.view.value_dim,
          .largest = &state.largest[row],
          .sum = &state.sum[row]};
}

Range chunk_range(std::int64_t first, std::int64_t chunk) {
  return {.begin = first + chunk * kChunkTokens, .end = first + (chunk + 1) * kChunkTokens};
}

/// First token of the first chunk that the block attends to.
std::int64_t first_chunk(const Decode& decode, const QueryBlock& block) {
  return visible_tokens(decode.view, block).begin / kChunkTokens * kChunkTokens;
}

void compute_whole(const Decode& decode, const QueryBlock& block) {
  AttentionState state;
  decode.functions.attend(decode.view, block, {.begin = 0, .end = decode.length[block.sequence]},
                          state);
  write_output(decode.view, block, state);
}

void compute_split(const Decode& decode, const QueryBlock& block, std::int64_t split) {
  const Range tokens = chunk_range(first_chunk(decode, block), split);
  if (tokens.begin >= decode.length[block.sequence]) return;
  AttentionState state;
  decode.functions.attend(decode.view, block, tokens, state);
  for (std::int64_t r = 0; r < block.all_rows(); ++r) {
    const AttentionPartial from = row_of(decode, r, state);
    const AttentionPartial to = decode.partial(block, r, split);
    std::copy(from.output, from.output + decode.view.value_dim, to.output);
    *to.largest = *from.largest;
    *to.sum = *from.sum;
  }
}

void merge_splits(const Decode& decode, const QueryBlock& block) {
  AttentionState state;
  const std::int64_t first = first_chunk(decode, block);
  for (std::int64_t r = 0; r < block.all_rows(); ++r) {
    const AttentionPartial row = row_of(decode, r, state);
    const AttentionPartial start = decode.partial(block, r, 0);
    std::copy(start.output, start.output + decode.view.value_dim, row.output);
    *row.largest = *start.largest;
    *row.sum = *start.sum;
    for (std::int64_t s = 1; first + s * kChunkTokens < decode.length[block.sequence]; ++s) {
      decode.functions.merge(row, decode.partial(block, r, s), decode.view.value_dim);
    }
  }
  write_output(decode.view, block, state);
}

/// Chunks of the longest sequence; with a window, those that the window may touch.
std::int64_t max_chunks(const Decode& decode) {
  std::int64_t chunks = 1;
  for (std::int64_t s = 0; s < decode.sequences; ++s) {
    const std::int64_t window = decode.view.window == 0 ? decode.length[s] : decode.view.window;
    const std::int64_t seen = std::min<std::int64_t>(window, decode.length[s]);
    const std::int64_t first = (decode.length[s] - seen) / kChunkTokens;
    const std::int64_t last = (decode.length[s] - 1) / kChunkTokens;
    chunks = std::max(chunks, last - first + 1);
  }
  return chunks;
}

/// KV heads per block: all that fit, but few enough to leave `wanted` blocks of `parts` each.
std::int64_t heads_of_block(const Decode& decode, std::int64_t parts, std::int64_t wanted) {
  const std::int64_t fit = std::max<std::int64_t>(1, kMaxBlockQueries / decode.view.group());
  const std::int64_t cuts = ceil_divide(wanted, std::max<std::int64_t>(1, parts));
  const std::int64_t fair = std::max<std::int64_t>(1, decode.view.kv_heads / cuts);
  return std::min(fit, fair);
}

void run(Decode decode, ThreadPool& pool) {
  constexpr std::int64_t kBlocksPerThread = 4;
  const std::int64_t wanted = kBlocksPerThread * pool.threads();
  const std::int64_t chunks = max_chunks(decode);
  const bool is_split = decode.sequences < wanted && chunks > 1 && chunks <= decode.max_splits;
  const std::int64_t parts = is_split ? decode.sequences * chunks : decode.sequences;
  decode.block_kv_heads = heads_of_block(decode, parts, wanted);
  const std::int64_t blocks = decode.blocks();
  if (!is_split) {
    return pool.for_ranges(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) compute_whole(decode, decode.block(b));
    });
  }
  pool.for_ranges(blocks * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      compute_split(decode, decode.block(i / chunks), i % chunks);
    }
  });
  pool.for_ranges(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) merge_splits(decode, decode.block(b));
  });
}

}  // namespace

bool supported(const DecodeAttention& attention) {
  return attention.cache.head_dim <= kMaxValueDim;
}

bool supported(const LatentDecode& attention) {
  return attention.latent + attention.rotary <= kMaxKeyDim && attention.latent <= kMaxValueDim;
}

void decode_attention(const DecodeAttention& attention, ThreadPool& pool, Isa isa) {
  check(attention);
  run({.view = paged_view(attention),
       .functions = attention_functions(isa),
       .length = attention.length,
       .sequences = attention.sequences,
       .max_splits = max_splits(attention),
       .workspace = static_cast<float*>(attention.workspace)},
      pool);
}

void latent_decode(const LatentDecode& attention, ThreadPool& pool, Isa isa) {
  check(attention);
  run({.view = view_of(attention),
       .functions = attention_functions(isa),
       .length = attention.length,
       .sequences = attention.sequences,
       .max_splits = max_splits(attention),
       .workspace = static_cast<float*>(attention.workspace)},
      pool);
}

}  // namespace roofcast::kernels::cpu
