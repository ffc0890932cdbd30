// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434) and its successors: sparse with an
// indexer (V3.2, GLM-5), and the compressed single-head caches of DeepSeek-V4.
#include <algorithm>

#include "base/error.hpp"
#include "model/io/families.hpp"
#include "model/io/family_parts.hpp"

namespace roofcast {

namespace {

LatentAttention latent_attention(const Fields& config) {
  LatentAttention a;
  config.pass_over({"num_key_value_heads", "head_dim"});  // of the expanded latent
  a.query_heads = config.size({"num_attention_heads"}, kMaxHeads);
  a.q_lora_rank = config.count_or({"q_lora_rank"}, 0);
  a.kv_lora_rank = config.size({"kv_lora_rank"});
  a.nope_dim = config.size({"qk_nope_head_dim"});
  a.rope_dim = config.count_or({"qk_rope_head_dim"}, 0);
  a.value_head_dim = config.size({"v_head_dim"});
  a.bias = config.flag({"attention_bias"}, false);
  if (const auto best = config.count({"index_topk"}, kLongestContext); best && *best > 0) {
    a.span = {.kind = AttentionSpan::Kind::sparse, .tokens = *best};
    a.index_heads = config.size({"index_n_heads"}, kMaxHeads);
    a.index_head_dim = config.size({"index_head_dim"});
  }
  return a;
}

/// Dense layers come first; after them every `moe_layer_freq`-th layer has experts (1: all).
std::vector<bool> deepseek_expert_layers(const Fields& config, std::int64_t layers) {
  std::vector<bool> has_experts(static_cast<std::size_t>(layers), false);
  if (!config.has("n_routed_experts")) return has_experts;
  const auto stated = layer_texts(config, "mlp_layer_types", layers);
  const std::int64_t dense = config.count_or({"first_k_dense_replace"}, 0, layers);
  const std::int64_t period = config.size_or({"moe_layer_freq"}, 1, kMaxLayers);
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    has_experts[at] = stated.empty() ? i >= dense && i % period == 0 : stated[at] == "sparse";
  }
  return has_experts;
}

/// DeepSeek experts: the router has a score correction per expert if it balances without an
/// auxiliary loss (V3 and later).
MoeFfn deepseek_experts(const Fields& config) {
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = shared_width(config, moe.expert_intermediate);
  moe.router_bias = config.text({"topk_method"}) == "noaux_tc";
  return moe;
}

}  // namespace

void build_deepseek(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  LatentAttention attention = latent_attention(config);
  const LatentAttention with_indexer = attention;
  const std::vector<bool> has_experts = deepseek_expert_layers(config, layers);
  const auto indexers = layer_texts(config, "indexer_types", layers);
  const bool any_shared = std::count(indexers.begin(), indexers.end(), "shared") > 0;
  if (any_shared) {
    model.notes.push_back(
        "layers with indexer type 'shared' reuse an earlier selection of tokens: counted without "
        "an indexer");
  }
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    attention = with_indexer;
    if (any_shared && indexers[i] == "shared") attention.index_heads = 0;
    const Ffn ffn = has_experts[i] ? Ffn{deepseek_experts(config)}
                                   : Ffn{DenseFfn{.intermediate = ffn_width(config)}};
    model.layers.push_back({.mixer = attention, .ffn = ffn, .norm_elements = 2 * model.hidden});
  }
}

namespace {

// Compressed caches with this ratio overlap and have an indexer; others are read whole (DeepSeek-V4
// inference code, Compressor and Indexer).
constexpr std::int64_t kSearchedRatio = 4;

struct DeepSeekV4 {
  Attention attention;
  std::int64_t hidden = 0;
  std::int64_t index_topk = 0;
  std::int64_t index_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t streams = 0;  // copies of the residual stream (hyper-connections)
};

DeepSeekV4 read_deepseek_v4(const Fields& config, std::int64_t hidden) {
  DeepSeekV4 v4{.attention = grouped_attention(config), .hidden = hidden};
  Attention& a = v4.attention;
  a.keys_are_values = true;
  a.q_lora_rank = config.size({"q_lora_rank"});
  a.output_lora_rank = config.size({"o_lora_rank"});
  a.output_groups = config.size({"o_groups"}, a.query_heads);
  a.qk_norm_elements = a.head_dim;  // of the single key-value head; the query latent has its own
  a.sink_elements = a.query_heads;
  a.local_tokens = config.size({"sliding_window"}, kLongestContext);
  v4.index_topk = config.size({"index_topk"}, kLongestContext);
  v4.index_heads = config.size({"index_n_heads"}, kMaxHeads);
  v4.index_head_dim = config.size({"index_head_dim"});
  v4.streams = config.size({"hc_mult"}, kMaxHeads);
  return v4;
}

/// Learned pooling of `ratio` tokens into one entry of `width`: two projections, a bias per
/// position, a norm; twice the width if neighbouring groups overlap.
void add_compressor(const std::string& name, std::int64_t ratio, std::int64_t width,
                    std::int64_t hidden, Layer& layer) {
  const std::int64_t outputs = width * (ratio == kSearchedRatio ? 2 : 1);
  layer.extra.push_back({.name = name + ".wkv_gate", .outputs = 2 * outputs, .inputs = hidden});
  layer.extra.push_back(
      {.name = name + ".positions_norm", .outputs = ratio * outputs + width, .multiplies = false});
}

/// Mixing matrices between residual streams, around attention and feed-forward, in fp32.
void add_hyper_connections(const DeepSeekV4& v4, Layer& layer) {
  const std::int64_t mixes = (2 + v4.streams) * v4.streams;
  layer.extra.push_back({.name = "hyper_connections",
                         .outputs = 2 * mixes,
                         .inputs = v4.streams * v4.hidden,
                         .format = plain_format(DType::fp32)});
  layer.extra.push_back({.name = "hyper_connections.base",
                         .outputs = 2 * (mixes + 3),
                         .multiplies = false,
                         .format = plain_format(DType::fp32)});
}

Layer deepseek_v4_layer(const DeepSeekV4& v4, std::int64_t ratio) {
  Layer layer{.norm_elements = 2 * v4.hidden};
  Attention a = v4.attention;
  if (ratio == 0) {
    a.span = sliding(a.local_tokens);
    a.local_tokens = 0;
  } else {
    a.cache_compression = ratio;
    add_compressor("compressor", ratio, a.head_dim, v4.hidden, layer);
  }
  if (ratio == kSearchedRatio) {
    a.span = {.kind = AttentionSpan::Kind::sparse, .tokens = v4.index_topk};
    a.index_heads = v4.index_heads;
    a.index_head_dim = v4.index_head_dim;
    layer.extra.push_back({.name = "indexer.wq_b",
                           .outputs = v4.index_heads * v4.index_head_dim,
                           .inputs = a.q_lora_rank});
    layer.extra.push_back(
        {.name = "indexer.weights_proj", .outputs = v4.index_heads, .inputs = v4.hidden});
    add_compressor("indexer.compressor", ratio, v4.index_head_dim, v4.hidden, layer);
  }
  layer.mixer = a;
  add_hyper_connections(v4, layer);
  return layer;
}

}  // namespace

// Every layer keeps its last `sliding_window` tokens and, if its compress_ratios is not 0, one
// entry per `ratio` older tokens. Keys are values, with one head. The first `num_hash_layers`
// layers route by a table of token ids and have no score correction.
void build_deepseek_v4(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  const DeepSeekV4 v4 = read_deepseek_v4(config, model.hidden);
  config.pass_over({"qk_rope_head_dim"});  // part of head_dim
  const std::vector<std::int64_t> ratios = config.counts("compress_ratios");
  if (static_cast<std::int64_t>(ratios.size()) < layers) {
    config.fail("compress_ratios", "must have an entry for every layer");
  }
  const std::int64_t hashed = config.count_or({"num_hash_layers"}, 0, kMaxLayers);
  MoeFfn moe = deepseek_experts(config);
  for (std::int64_t i = 0; i < layers; ++i) {
    Layer layer = deepseek_v4_layer(v4, ratios[static_cast<std::size_t>(i)]);
    moe.router_bias = i >= hashed;
    layer.ffn = moe;
    model.layers.push_back(layer);
  }
  model.final_norm_elements = model.hidden;
  model.extra.push_back({.name = "hyper_connections.head",
                         .outputs = v4.streams,
                         .inputs = v4.streams * v4.hidden,
                         .format = plain_format(DType::fp32)});
  model.extra.push_back({.name = "hyper_connections.head_base",
                         .outputs = v4.streams + 1,
                         .multiplies = false,
                         .format = plain_format(DType::fp32)});
}

}  // namespace roofcast
