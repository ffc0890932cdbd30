#include "kernels/attention.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "kernels/ceil_divide.hpp"
#include "kernels/check.hpp"

namespace roofcast::kernels {
namespace {

constexpr std::int64_t kMinSplitTokens = 32;
/// Thread blocks that fill any GPU several times over: 4 times 132 SMs (H200) with 8 blocks each.
constexpr std::int64_t kEnoughBlocks = 4096;
/// Splits allowed even for a large batch, so that one long sequence in it is still divided.
constexpr std::int64_t kSplitsAlways = 8;
/// Query heads of latent attention per thread block: the rows of an MMA tile.
constexpr std::int64_t kLatentTile = 16;

/// `blocks`: thread blocks without any split; `seen`: the most tokens that a query attends to.
int splits_for(std::int64_t blocks, std::int64_t seen) {
  const std::int64_t by_tokens = std::max<std::int64_t>(1, ceil_divide(seen, kMinSplitTokens));
  const std::int64_t by_blocks =
      std::max(kSplitsAlways, kEnoughBlocks / std::max<std::int64_t>(1, blocks));
  return static_cast<int>(std::min({std::int64_t{kMaxSplits}, by_tokens, by_blocks}));
}

std::int64_t partial_bytes(std::int64_t rows, int splits, int value_dim) {
  return rows * splits * (value_dim + 2) * static_cast<std::int64_t>(sizeof(float));
}

void check_lengths(std::int64_t longest, int pages_per_sequence, int page_size,
                   std::string_view family) {
  require(pages_per_sequence >= 0, family, "pages_per_sequence must not be negative");
  require(longest >= 0 && longest <= std::int64_t{pages_per_sequence} * page_size, family,
          "longest_length must fit the pages of a sequence");
}

/// Checks shared by prefill and decode.
template <class Attention>
void check_common(const Attention& attention, std::string_view family) {
  require(is_plain(attention.element), family, "the element must be fp32, fp16 or bf16");
  check_cache(attention.cache, attention.element, family);
  require(attention.sequences >= 0, family, "sequences must not be negative");
  require(attention.query_heads > 0 && attention.query_heads % attention.cache.kv_heads == 0,
          family, "query_heads must be a multiple of kv_heads");
  const std::int64_t query_row = std::int64_t{attention.query_heads} * attention.cache.head_dim;
  require(attention.query_stride == 0 || (attention.query_stride >= query_row &&
                                          whole_vectors(attention.element, attention.query_stride)),
          family, "query_stride must be 0 or hold all heads and be a multiple of 16 bytes");
  require(attention.scale > 0 && std::isfinite(attention.scale), family,
          "the scale must be positive");
  require(attention.window >= 0, family, "the window must not be negative");
  check_lengths(attention.longest_length, attention.cache.pages_per_sequence,
                attention.cache.page_size, family);
  const std::int32_t* page_table = attention.cache.page_table;
  require(all_given(attention.query, attention.output, attention.length, page_table), family,
          "query, output, length and page table must be given");
  require(all_aligned(attention.query, attention.output, attention.length, page_table), family,
          "pointers must be aligned to 16 bytes");
}

/// `queries` are the last of `length` tokens.
struct Visible {
  double pairs = 0;   // of a query and a token that it attends to
  double tokens = 0;  // that any query attends to
};

Visible visible(std::int64_t queries, std::int64_t length, int window) {
  if (queries == 0) return {};
  const std::int64_t widest = window == 0 ? length : window;
  // The first query would attend to length - queries + 1 tokens, each next one to one more, up to
  // `widest`.
  const std::int64_t first = length - queries + 1;
  const std::int64_t growing = std::clamp<std::int64_t>(widest - first, 0, queries);
  const double grown = static_cast<double>(growing) *
                       (2.0 * static_cast<double>(first) + static_cast<double>(growing) - 1) / 2;
  const double held = static_cast<double>(queries - growing) * static_cast<double>(widest);
  const std::int64_t tokens = std::min(length, queries + widest - 1);
  return {.pairs = grown + held, .tokens = static_cast<double>(tokens)};
}

/// Bytes of the keys and values of one token.
double cached_bytes(const PagedCache& cache) {
  return 2.0 * cache.kv_heads * cache.head_dim * static_cast<double>(size_of(cache.element));
}

template <class Attention>
void add_sequence(AttentionWork& work, const Attention& attention, std::int64_t queries,
                  std::int64_t length) {
  const Visible seen = visible(queries, length, attention.window);
  const double row = static_cast<double>(attention.query_heads) * attention.cache.head_dim;
  const double query_and_output = 2 * row * static_cast<double>(size_of(attention.element));
  work.flops += 4 * row * seen.pairs;
  work.bytes +=
      seen.tokens * cached_bytes(attention.cache) + static_cast<double>(queries) * query_and_output;
}

}  // namespace

void check_cache(const PagedCache& cache, Element element, std::string_view family) {
  const bool narrow = cache.element == Element::fp8_e4m3;
  require(narrow || cache.element == element, family,
          "the cache must be of the query's element or fp8_e4m3");
  require(narrow || (cache.key_scale == 1 && cache.value_scale == 1), family,
          "only an fp8 cache is scaled");
  require(cache.key_scale > 0 && cache.value_scale > 0, family,
          "key_scale and value_scale must be positive");
  require(cache.page_size > 0 && std::has_single_bit(static_cast<unsigned>(cache.page_size)),
          family, "the page size must be a power of two");
  require(cache.kv_heads > 0 && cache.head_dim > 0, family,
          "kv_heads and head_dim must be positive");
  require(whole_vectors(cache.element, cache.head_dim), family,
          "a cached head must be a multiple of 16 bytes");
  require(all_given(cache.keys, cache.values), family, "keys and values must be given");
  require(all_aligned(cache.keys, cache.values), family, "pointers must be aligned to 16 bytes");
}

void check(const PrefillAttention& attention) {
  constexpr auto kFamily = "prefill attention";
  check_common(attention, kFamily);
  require(attention.first_query != nullptr, kFamily, "first_query must be given");
  require(aligned(attention.first_query), kFamily, "pointers must be aligned to 16 bytes");
  require(attention.tokens >= 0 && attention.tokens <= kMaxRows, kFamily,
          "tokens must be 0 to 2^31 - 1");
  require(attention.longest_query >= 0 && attention.longest_query <= attention.tokens, kFamily,
          "longest_query must be 0 to tokens");
  require(attention.longest_query <= attention.longest_length, kFamily,
          "longest_query must be at most longest_length");
}

int max_splits(const DecodeAttention& attention) {
  const std::int64_t seen =
      attention.window == 0 ? attention.longest_length
                            : std::min<std::int64_t>(attention.window, attention.longest_length);
  return splits_for(std::int64_t{attention.sequences} * attention.cache.kv_heads, seen);
}

std::int64_t workspace_bytes(const DecodeAttention& attention) {
  return partial_bytes(std::int64_t{attention.sequences} * attention.query_heads,
                       max_splits(attention), attention.cache.head_dim);
}

void check(const DecodeAttention& attention) {
  constexpr auto kFamily = "decode attention";
  check_common(attention, kFamily);
  require(attention.workspace != nullptr, kFamily, "the workspace must be given");
  require(aligned(attention.workspace), kFamily, "pointers must be aligned to 16 bytes");
}

int max_splits(const LatentDecode& attention) {
  const std::int64_t tiles = ceil_divide(attention.query_heads, kLatentTile);
  return splits_for(attention.sequences * tiles, attention.longest_length);
}

std::int64_t workspace_bytes(const LatentDecode& attention) {
  return partial_bytes(std::int64_t{attention.sequences} * attention.query_heads,
                       max_splits(attention), attention.latent);
}

void check(const LatentDecode& attention) {
  constexpr auto kFamily = "latent decode";
  require(is_plain(attention.element), kFamily, "the element must be fp32, fp16 or bf16");
  require(attention.sequences >= 0, kFamily, "sequences must not be negative");
  require(attention.query_heads > 0, kFamily, "query_heads must be positive");
  require(attention.latent > 0 && attention.rotary >= 0, kFamily,
          "latent must be positive and rotary not negative");
  require(whole_vectors(attention.element, attention.latent) &&
              whole_vectors(attention.element, attention.rotary),
          kFamily, "latent and rotary must be multiples of 16 bytes");
  require(
      attention.page_size > 0 && std::has_single_bit(static_cast<unsigned>(attention.page_size)),
      kFamily, "the page size must be a power of two");
  require(attention.scale > 0 && std::isfinite(attention.scale), kFamily,
          "the scale must be positive");
  check_lengths(attention.longest_length, attention.pages_per_sequence, attention.page_size,
                kFamily);
  require(all_given(attention.query, attention.output, attention.cache, attention.page_table,
                    attention.length, attention.workspace),
          kFamily, "query, output, cache, page table, length and workspace must be given");
  require(all_aligned(attention.query, attention.output, attention.cache, attention.page_table,
                      attention.length, attention.workspace),
          kFamily, "pointers must be aligned to 16 bytes");
}

AttentionWork work_of(const PrefillAttention& attention, const std::int32_t* new_tokens,
                      const std::int32_t* length) {
  AttentionWork work;
  for (int s = 0; s < attention.sequences; ++s) {
    add_sequence(work, attention, new_tokens[s], length[s]);
  }
  return work;
}

AttentionWork work_of(const DecodeAttention& attention, const std::int32_t* length) {
  AttentionWork work;
  for (int s = 0; s < attention.sequences; ++s) add_sequence(work, attention, 1, length[s]);
  return work;
}

AttentionWork work_of(const LatentDecode& attention, const std::int32_t* length) {
  const double cached = attention.latent + attention.rotary;
  const double heads = attention.query_heads;
  const double size = static_cast<double>(size_of(attention.element));
  AttentionWork work;
  for (int s = 0; s < attention.sequences; ++s) {
    const double tokens = length[s];
    work.flops += 2 * heads * (cached + attention.latent) * tokens;
    work.bytes += size * (cached * tokens + heads * (cached + attention.latent));
  }
  return work;
}

}  // namespace roofcast::kernels
