// How vLLM divides layers into cache groups and the cache into equal pages:
// vllm/v1/core/kv_cache_utils.py (get_kv_cache_groups, unify_kv_cache_spec_page_size) and
// vllm/v1/kv_cache_interface.py, read at v0.11 to v0.29.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/ceil_divide.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"

namespace roofcast {

namespace {

// Attention kernels need blocks of a multiple of 16 tokens.
constexpr std::int64_t kBlockAlignment = 16;
// If the largest type has fewer than 1.5 times the layers of the smallest, types are padded instead
// of divided.
constexpr double kPaddingLimit = 1.5;

/// Layers that store the same amount for the same tokens.
struct CacheType {
  std::int64_t layers = 0;
  AttentionSpan span;
  Bytes per_token;
  Bytes state;  // recurrent types only
  bool recurrent() const { return state.value > 0; }
};

/// Sparse attention reads a selection of tokens but keeps all of them.
AttentionSpan kept_span(const AttentionSpan& span, ChunkedLayers chunked) {
  const bool keeps_all =
      span.kind == AttentionSpan::Kind::sparse ||
      (span.kind == AttentionSpan::Kind::chunked && chunked == ChunkedLayers::as_full);
  return keeps_all ? AttentionSpan{} : span;
}

void count_layer(std::vector<CacheType>& types, const CacheType& type) {
  const auto same = [&](const CacheType& t) {
    return t.span == type.span && t.per_token == type.per_token && t.state == type.state;
  };
  const auto found = std::find_if(types.begin(), types.end(), same);
  if (found != types.end()) {
    ++found->layers;
  } else {
    types.push_back(type);
    types.back().layers = 1;
  }
}

/// The cache types of a range of layers, in order of first appearance.
std::vector<CacheType> cache_types(const Transformer& model, const LayerRange& range,
                                   DType cache_dtype, int tensor, ChunkedLayers chunked) {
  std::vector<CacheType> types;
  for (std::int64_t i = range.first; i < range.last; ++i) {
    const Layer& layer = model.layers[static_cast<std::size_t>(i)];
    const CacheNeed need = cache_need(layer, model, cache_dtype, tensor);
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    if (attention != nullptr && attention->local_tokens > 0) {
      // The uncompressed window of a compressed cache is a separate sliding-window cache.
      const AttentionSpan window{.kind = AttentionSpan::Kind::sliding,
                                 .tokens = attention->local_tokens};
      const Bytes per_token = need.per_sequence / static_cast<double>(attention->local_tokens);
      count_layer(types, {.layers = 1, .span = window, .per_token = per_token, .state = {}});
    } else if (need.per_sequence.value > 0) {
      count_layer(types, {.layers = 1, .span = {}, .per_token = {}, .state = need.per_sequence});
    }
    if (need.per_token.value > 0) {
      count_layer(types, {.layers = 1,
                          .span = kept_span(need.span, chunked),
                          .per_token = need.per_token,
                          .state = {}});
    }
  }
  return types;
}

/// All layers in one group: attention of one span (widths may differ), or states only.
CacheLayout single_group(const std::vector<CacheType>& types, std::int64_t block_tokens,
                         std::int64_t state_rows) {
  CacheLayout layout;
  layout.block_tokens = block_tokens;
  Bytes row;
  for (const CacheType& type : types) {
    layout.layers_per_row += type.layers;
    const Bytes page =
        type.recurrent() ? type.state : type.per_token * static_cast<double>(block_tokens);
    row += page * static_cast<double>(type.layers);
  }
  layout.page = row / static_cast<double>(layout.layers_per_row);
  const bool recurrent = types.front().recurrent();
  layout.groups.push_back({.layers = layout.layers_per_row,
                           .span = types.front().span,
                           .recurrent = recurrent,
                           .rows_per_sequence = recurrent ? state_rows : 0,
                           .block_tokens = 0});
  return layout;
}

/// One pool of tokens: every layer that keeps all of them, and the others' share.
CacheLayout token_pool(const std::vector<CacheType>& types, std::int64_t block_tokens,
                       double window_share) {
  const bool only_windows = std::all_of(types.begin(), types.end(), [](const CacheType& type) {
    return type.recurrent() || keeps_window(type.span);
  });
  CacheLayout layout;
  layout.block_tokens = block_tokens;
  Bytes token;
  for (const CacheType& type : types) {
    if (type.recurrent()) continue;
    layout.layers_per_row += type.layers;
    const bool apart = keeps_window(type.span) && !only_windows && window_share < 1.0;
    const double share = apart ? window_share : 1.0;
    if (apart) layout.pooled_window = std::max(layout.pooled_window, type.span.tokens);
    token += type.per_token * (share * static_cast<double>(type.layers));
  }
  if (layout.layers_per_row == 0) return layout;
  layout.pooled_share = window_share;
  layout.page =
      token * static_cast<double>(block_tokens) / static_cast<double>(layout.layers_per_row);
  layout.groups.push_back({.layers = layout.layers_per_row});
  return layout;
}

/// Tokens per block at which a page of the widest attention type holds the largest state.
std::int64_t enlarged_block(Bytes largest_state, Bytes widest, std::int64_t block_tokens) {
  const double aligned = widest.value * static_cast<double>(kBlockAlignment);
  const auto blocks = static_cast<std::int64_t>(std::ceil(largest_state.value / aligned));
  return std::max(block_tokens, kBlockAlignment * blocks);
}

std::int64_t group_size(const std::vector<CacheType>& types) {
  std::int64_t smallest = types.front().layers;
  std::int64_t largest = smallest;
  for (const CacheType& type : types) {
    smallest = std::min(smallest, type.layers);
    largest = std::max(largest, type.layers);
  }
  const double limit = kPaddingLimit * static_cast<double>(smallest);
  return static_cast<double>(largest) < limit ? largest : smallest;
}

/// Several types: groups of equal size on pages of equal bytes. The widest attention type sets the
/// page size; narrower types put more tokens on a page, and states are padded to it.
CacheLayout several_groups(const std::vector<CacheType>& types, std::int64_t block_tokens,
                           std::int64_t state_rows) {
  Bytes widest;
  Bytes largest_state;
  for (const CacheType& type : types) {
    widest = std::max(widest, type.per_token);
    largest_state = std::max(largest_state, type.state);
  }
  CacheLayout layout;
  layout.block_tokens = enlarged_block(largest_state, widest, block_tokens);
  layout.page = widest * static_cast<double>(layout.block_tokens);
  layout.layers_per_row = group_size(types);
  for (const CacheType& type : types) {
    CacheGroup group{.layers = layout.layers_per_row, .span = type.span};
    group.recurrent = type.recurrent();
    if (group.recurrent) {
      group.rows_per_sequence = state_rows;
    } else if (type.per_token < widest) {
      group.block_tokens = static_cast<std::int64_t>(layout.page / type.per_token);
    }
    std::int64_t left = type.layers;
    for (; left > 0; left -= layout.layers_per_row) {
      group.layers = std::min(left, layout.layers_per_row);
      layout.groups.push_back(group);
    }
  }
  return layout;
}

// ---- DeepSeek-V4, as vLLM lays it out (0.26, vllm/models/deepseek_v4: attention.py,
// compressor.py; v1/attention/backends/mla/sparse_swa.py; v1/core/kv_cache_utils.py)

/// Layers by the ratio of their compressed caches; every layer also keeps a window.
struct CompressedLayers {
  std::int64_t searched = 0;    // a compressed cache with an indexer's
  std::int64_t read_whole = 0;  // one without
  std::int64_t searched_ratio = 4;
  std::int64_t whole_ratio = 128;
  std::int64_t windows = 0;
  std::int64_t window = 0;   // tokens
  std::int64_t width = 0;    // elements of an entry
  std::int64_t indexed = 0;  // elements of an indexer's entry
};

CompressedLayers compressed_layers(const Transformer& model, const LayerRange& range) {
  CompressedLayers layers;
  for (std::int64_t i = range.first; i < range.last; ++i) {
    const auto* a = std::get_if<Attention>(&model.layers[static_cast<std::size_t>(i)].mixer);
    if (a == nullptr) continue;
    ++layers.windows;
    layers.window = a->local_tokens > 0 ? a->local_tokens : a->span.tokens;
    layers.width = a->head_dim;
    if (a->cache_compression == 1) continue;
    if (a->index_heads > 0) {
      ++layers.searched;
      layers.searched_ratio = a->cache_compression;
      layers.indexed = a->index_head_dim;
    } else {
      ++layers.read_whole;
      layers.whole_ratio = a->cache_compression;
    }
  }
  return layers;
}

/// Pages of one layer in a block.
struct CompressedPages {
  Bytes searched, index, whole, window;            // caches
  Bytes searched_state, index_state, whole_state;  // of the compressors, in fp32
};

/// Tokens of a window's block and of compressors' states'.
constexpr std::int64_t kWindowBlock = 64;
constexpr std::int64_t kSearchedStateBlock = 4;
constexpr std::int64_t kWholeStateBlock = 8;

/// In fp8 an entry is 448 elements, 64 rotary ones in 16 bits and 8 bytes of scales, and pages are
/// aligned to 576 bytes, else to 512. An indexer's entry is fp8 with a scale. A compressor holds
/// values and scores, twice as many where groups of tokens overlap.
CompressedPages compressed_pages(const CompressedLayers& layers, DType cache_dtype,
                                 std::int64_t block) {
  constexpr double kRotary = 64, kScales = 8, kIndexScale = 4, kState = 4;
  const bool narrow = bits_of(cache_dtype) == 8;
  const double alignment = narrow ? 576 : 512;
  const auto page = [&](std::int64_t entries, double bytes) {
    return Bytes{std::ceil(static_cast<double>(entries) * bytes / alignment) * alignment};
  };
  const auto width = static_cast<double>(layers.width);
  const auto indexed = static_cast<double>(layers.indexed);
  const double entry = narrow ? width + kRotary + kScales : 2 * width;
  return {.searched = page(block / layers.searched_ratio, entry),
          .index = page(block / layers.searched_ratio, indexed + kIndexScale),
          .whole = page(block / layers.whole_ratio, entry),
          .window = page(kWindowBlock, entry),
          .searched_state = page(kSearchedStateBlock, 4 * width * kState),
          .index_state = page(kSearchedStateBlock, 4 * indexed * kState),
          .whole_state = page(kWholeStateBlock, 2 * width * kState)};
}

/// The number of layers that groups are padded to with the least padding in all, the larger of two
/// (_approximate_gcd).
std::int64_t layers_of_groups(const std::array<std::int64_t, 4>& layers) {
  const std::int64_t most = std::ranges::max(layers);
  std::int64_t best = std::max<std::int64_t>(1, layers.front());
  std::int64_t least_padding = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t size = best; size <= most; ++size) {
    std::int64_t padding = 0;
    for (const std::int64_t count : layers) padding += ceil_divide(count, size) * size - count;
    if (padding <= least_padding) {
      least_padding = padding;
      best = size;
    }
  }
  return best;
}

/// One group of the compressed caches; windows and compressors' states in groups of as many layers.
/// Up to 0.26 states are padded to the pages of the caches that they share memory with.
CacheLayout compressed_layout(const CompressedLayers& layers, DType cache_dtype,
                              std::int64_t block_tokens, CompressedBlocks rule) {
  CompressedPages pages = compressed_pages(layers, cache_dtype, block_tokens);
  if (rule != CompressedBlocks::overlaid) {
    pages.searched_state = std::max(pages.searched_state, pages.searched);
    pages.whole_state = std::max(pages.whole_state, pages.searched);
    pages.index_state = std::max(pages.index_state, pages.index);
  }
  const std::int64_t compressed = std::max(layers.searched, layers.read_whole);
  const std::int64_t tuples =
      layers_of_groups({compressed, layers.windows, layers.searched, layers.read_whole});
  CacheLayout layout;
  layout.block_tokens = block_tokens;
  layout.layers_per_row = tuples;
  std::vector<Bytes> group_bytes;
  const auto add = [&](std::int64_t count, AttentionSpan span, std::int64_t block, Bytes page) {
    for (std::int64_t left = ceil_divide(count, tuples), all = left; left > 0; --left) {
      const std::int64_t of_group = ceil_divide(count - (all - left), all);
      layout.groups.push_back({.layers = of_group, .span = span, .block_tokens = block});
      group_bytes.push_back(page * static_cast<double>(of_group));
    }
  };
  const auto sliding = [](std::int64_t tokens) {
    return AttentionSpan{.kind = AttentionSpan::Kind::sliding, .tokens = tokens};
  };
  layout.groups.push_back({.layers = layers.searched + layers.read_whole});
  group_bytes.push_back((pages.searched + pages.index) * static_cast<double>(layers.searched) +
                        pages.whole * static_cast<double>(layers.read_whole));
  add(layers.windows, sliding(layers.window), kWindowBlock, pages.window);
  add(layers.searched, sliding(2 * layers.searched_ratio), kSearchedStateBlock,
      pages.searched_state + pages.index_state);
  add(layers.read_whole, sliding(layers.whole_ratio), kWholeStateBlock, pages.whole_state);
  for (std::size_t i = 0; i < layout.groups.size(); ++i) {
    layout.groups[i].page_share = group_bytes[i] / group_bytes.front();
  }
  Bytes row;
  switch (rule) {
    case CompressedBlocks::tuples:
      row = (pages.searched + pages.index + pages.whole) * static_cast<double>(tuples);
      break;
    case CompressedBlocks::slots:
      row = pages.searched * static_cast<double>(tuples) +
            pages.index * static_cast<double>(layers.searched) +
            pages.whole * static_cast<double>(layers.read_whole);
      break;
    case CompressedBlocks::overlaid:
      row = *std::ranges::max_element(group_bytes);
      break;
  }
  layout.page = row / static_cast<double>(tuples);
  // As many pages as its own take, for what a transfer sends.
  for (std::size_t i = 0; i < layout.groups.size(); ++i) {
    layout.groups[i].layers = std::llround(group_bytes[i] / layout.page);
  }
  return layout;
}

/// SGLang's pool of a V4 model (0.5.15, model_executor/pool_configurator.py, DSV4PoolConfigurator):
/// compressed entries for every token, windows and compressors' states for a share of them. States
/// of the searched ratio are kept in rings of eight for every page of a window; those of the other
/// belong to requests and are neglected.
CacheLayout compressed_pool(const CompressedLayers& layers, std::int64_t block_tokens,
                            double window_share) {
  constexpr double kEntryBeside = 64 + 8, kIndexScale = 4, kState = 4, kRing = 8;
  const auto searched = static_cast<double>(layers.searched);
  const auto indexed = static_cast<double>(layers.indexed);
  const double entry = static_cast<double>(layers.width) + kEntryBeside;
  const double ratio = static_cast<double>(layers.searched_ratio);
  const double whole =
      static_cast<double>(layers.read_whole) / static_cast<double>(layers.whole_ratio);
  const double compressed = searched / ratio * (entry + indexed + kIndexScale) + whole * entry;
  const double states = kRing / static_cast<double>(layers.window) * searched * 4 *
                        (static_cast<double>(layers.width) + indexed) * kState;
  const double windows = static_cast<double>(layers.windows) * entry + states;
  CacheLayout layout;
  layout.block_tokens = block_tokens;
  layout.layers_per_row = layers.windows;
  layout.pooled_window = window_share < 1.0 ? layers.window : 0;
  layout.pooled_share = window_share;
  layout.page = Bytes{(compressed + window_share * windows) * static_cast<double>(block_tokens) /
                      static_cast<double>(layers.windows)};
  layout.groups.push_back({.layers = layout.layers_per_row});
  return layout;
}

CacheLayout layout_of(const std::vector<CacheType>& types, std::int64_t block_tokens,
                      const CacheRules& rules) {
  if (rules.window_share) return token_pool(types, block_tokens, *rules.window_share);
  if (types.empty()) {
    CacheLayout none;
    none.block_tokens = block_tokens;
    return none;
  }
  const auto like_first = [&](const CacheType& type) {
    return type.span == types.front().span && type.recurrent() == types.front().recurrent();
  };
  const bool uniform = std::all_of(types.begin(), types.end(), like_first);
  const bool has_attention =
      std::any_of(types.begin(), types.end(), [](const CacheType& t) { return !t.recurrent(); });
  if (uniform || !has_attention) return single_group(types, block_tokens, rules.state_rows);
  return several_groups(types, block_tokens, rules.state_rows);
}

CacheLayout layout_of(const CompressedLayers& layers, DType cache_dtype, std::int64_t block_tokens,
                      const CacheRules& rules) {
  if (rules.window_share) return compressed_pool(layers, block_tokens, *rules.window_share);
  return compressed_layout(layers, cache_dtype, block_tokens, rules.compressed);
}

std::int64_t reserved_group_rows(const CacheGroup& group, std::int64_t block, std::int64_t tokens,
                                 std::int64_t in_flight) {
  const std::int64_t window = group.span.tokens;
  switch (group.span.kind) {
    case AttentionSpan::Kind::full:
    case AttentionSpan::Kind::sparse:
      return ceil_divide(tokens, block);
    case AttentionSpan::Kind::sliding:
      // Plus one, because the window need not start at a block boundary (SlidingWindowSpec).
      return ceil_divide(std::min(window - 1 + in_flight, tokens), block) + 1;
    case AttentionSpan::Kind::chunked:
      return ceil_divide(std::min(window + in_flight, tokens), block);
    case AttentionSpan::Kind::both:
      return 0;
  }
  return 0;
}

template <class RowsOfGroup>
std::int64_t sum_of_rows(const CacheLayout& layout, RowsOfGroup rows_of_group) {
  std::int64_t rows = 0;
  for (const CacheGroup& group : layout.groups) {
    const std::int64_t block = group.block_tokens > 0 ? group.block_tokens : layout.block_tokens;
    rows += group.recurrent ? group.rows_per_sequence : rows_of_group(group, block);
  }
  return rows;
}

}  // namespace

CacheLayout cache_layout(const Transformer& model, DType cache_dtype, const Parallelism& parallel,
                         std::int64_t block_tokens, const CacheRules& rules) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  CacheLayout fullest;
  fullest.block_tokens = block_tokens;
  Bytes max;
  for (int stage = 0; stage < parallel.pipeline; ++stage) {
    const LayerRange range = pipeline_stage(layers, parallel.pipeline, stage);
    const CompressedLayers compressed = compressed_layers(model, range);
    // A block of fewer tokens than one entry stands for, as other engines have, holds no whole
    // entry.
    const bool lays_out = compressed.searched + compressed.read_whole > 0 &&
                          (rules.window_share || block_tokens >= compressed.whole_ratio);
    const CacheLayout layout =
        lays_out ? layout_of(compressed, cache_dtype, block_tokens, rules)
                 : layout_of(cache_types(model, range, cache_dtype, parallel.tensor, rules.chunked),
                             block_tokens, rules);
    const Bytes of_all_groups = layout.row_bytes() * static_cast<double>(layout.groups.size());
    if (of_all_groups > max) {
      fullest = layout;
      max = of_all_groups;
    }
  }
  fullest.block_tokens *= rules.context_ranks;
  return fullest;
}

std::int64_t reserved_rows_per_sequence(const CacheLayout& layout, std::int64_t tokens,
                                        std::int64_t in_flight) {
  return sum_of_rows(layout, [&](const CacheGroup& group, std::int64_t block) {
    return reserved_group_rows(group, block, tokens, in_flight);
  });
}

std::int64_t printed_rows_per_sequence(const CacheLayout& layout, std::int64_t tokens,
                                       std::int64_t in_flight) {
  double rows = 0;
  for (const CacheGroup& group : layout.groups) {
    const std::int64_t block = group.block_tokens > 0 ? group.block_tokens : layout.block_tokens;
    const std::int64_t of_group = group.recurrent
                                      ? group.rows_per_sequence
                                      : reserved_group_rows(group, block, tokens, in_flight);
    rows += group.page_share * static_cast<double>(of_group);
  }
  // Shares are quotients of whole bytes: what exceeds a whole number by rounding does not count.
  return static_cast<std::int64_t>(std::ceil(rows - 1e-6));
}

std::int64_t rows_per_sequence(const CacheLayout& layout, std::int64_t tokens,
                               std::int64_t in_flight) {
  return sum_of_rows(layout, [&](const CacheGroup& group, std::int64_t block) {
    // No group holds more blocks than the tokens fill.
    return std::min(reserved_group_rows(group, block, tokens, in_flight),
                    ceil_divide(tokens, block));
  });
}

}  // namespace roofcast
