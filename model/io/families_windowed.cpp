// Mixture-of-experts models that mix full attention with windows or chunks: gpt-oss, Llama-4,
// MiMo-V2, Step-3.5.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/io/families.hpp"
#include "model/io/family_parts.hpp"

namespace roofcast {

// gpt-oss: biases on all projections, one learned sink per query head, a window in every other
// layer (starting with the first) unless layer_types says otherwise.
void build_gpt_oss(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, true);
  attention.sink_elements = attention.query_heads;
  MoeFfn moe = routed_experts(config, {"intermediate_size"});
  moe.router_bias = moe.expert_bias = true;
  const AttentionSpan window = sliding(config.size({"sliding_window"}, kLongestContext));
  const auto types = layer_texts(config, "layer_types", layers);
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const bool windowed = types.empty() ? i % 2 == 0 : types[i] == "sliding_attention";
    attention.span = windowed ? window : AttentionSpan{};
    model.layers.push_back({.mixer = attention, .ffn = moe, .norm_elements = 2 * model.hidden});
  }
}

namespace {

/// Layers without rotary positions attend to all tokens, the others within their chunk. An empty
/// list means every fourth layer (transformers, configuration_llama4.py).
std::vector<bool> llama4_chunked(const Fields& config, std::int64_t layers) {
  const auto stated = layer_counts(config, "no_rope_layers", layers);
  const std::int64_t interval = config.size_or({"no_rope_layer_interval"}, 4, kMaxLayers);
  std::vector<bool> chunked;
  for (std::int64_t i = 0; i < layers; ++i) {
    chunked.push_back(stated.empty() ? (i + 1) % interval != 0
                                     : stated[static_cast<std::size_t>(i)] != 0);
  }
  return chunked;
}

std::vector<bool> llama4_expert_layers(const Fields& config, std::int64_t layers) {
  const std::int64_t step = config.size_or({"interleave_moe_layer_step"}, 1, kMaxLayers);
  const std::vector<std::int64_t> stated = config.counts("moe_layers");
  std::vector<bool> has_experts;
  for (std::int64_t i = 0; i < layers; ++i) {
    has_experts.push_back(stated.empty()
                              ? (i + 1) % step == 0
                              : std::find(stated.begin(), stated.end(), i) != stated.end());
  }
  return has_experts;
}

}  // namespace

// Llama-4: one shared expert with the routed experts' width, which no field states. Its norm of
// queries and keys has no gain.
void build_llama4(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  MoeFfn moe = routed_experts(config, {"intermediate_size"});
  moe.shared_intermediate = moe.expert_intermediate;
  const std::int64_t dense_width = config.size({"intermediate_size_mlp"}, kWidestFfn);
  const auto chunk = config.count({"attention_chunk_size"}, kLongestContext);
  const std::vector<bool> chunked = llama4_chunked(config, layers);
  const std::vector<bool> has_experts = llama4_expert_layers(config, layers);
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    attention.span = chunked[i] && chunk.value_or(0) > 0
                         ? AttentionSpan{.kind = AttentionSpan::Kind::chunked, .tokens = *chunk}
                         : AttentionSpan{};
    const Ffn ffn = has_experts[i] ? Ffn{moe} : Ffn{DenseFfn{.intermediate = dense_width}};
    model.layers.push_back({.mixer = attention, .ffn = ffn, .norm_elements = 2 * model.hidden});
  }
}

namespace {

/// MiMo-V2: only windowed layers have sinks, and they have their own heads and widths.
Attention mimo_windowed(const Fields& config, const Attention& full) {
  Attention a = full;
  a.query_heads = config.size_or({"swa_num_attention_heads"}, full.query_heads, kMaxHeads);
  a.kv_heads = config.size_or({"swa_num_key_value_heads"}, full.kv_heads, kMaxHeads);
  a.head_dim = config.size_or({"swa_head_dim"}, full.head_dim);
  a.value_head_dim = config.size_or({"swa_v_head_dim"}, full.value_head_dim);
  a.span = sliding(config.size({"sliding_window", "sliding_window_size"}, kLongestContext));
  a.sink_elements = config.flag({"add_swa_attention_sink_bias"}, false) ? a.query_heads : 0;
  return a;
}

}  // namespace

void build_mimo_v2(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention full = grouped_attention(config);
  full.value_head_dim = config.size_or({"v_head_dim"}, full.head_dim);
  full.qkv_bias = config.flag({"attention_bias"}, false);
  const Attention windowed = mimo_windowed(config, full);
  full.sink_elements = config.flag({"add_full_attention_sink_bias"}, false) ? full.query_heads : 0;
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = shared_width(config, moe.expert_intermediate);
  moe.router_bias = config.text({"topk_method"}) == "noaux_tc";
  const auto pattern = layer_counts(config, "hybrid_layer_pattern", layers);
  const auto has_experts = layer_counts(config, "moe_layer_freq", layers);
  if (pattern.empty()) config.fail("hybrid_layer_pattern", "is missing");
  if (has_experts.empty()) config.fail("moe_layer_freq", "is missing");
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const Ffn ffn =
        has_experts[i] != 0 ? Ffn{moe} : Ffn{DenseFfn{.intermediate = ffn_width(config)}};
    model.layers.push_back({.mixer = pattern[i] != 0 ? windowed : full,
                            .ffn = ffn,
                            .norm_elements = 2 * model.hidden});
  }
}

namespace {

/// Parses "3,4,5": the layers with experts.
std::vector<bool> listed_layers(const Fields& config, const std::string& list,
                                std::int64_t layers) {
  std::vector<bool> listed(static_cast<std::size_t>(layers), false);
  if (list.empty()) return listed;
  for (const std::string_view number : split(list, ',')) {
    const auto layer = to_number<std::int64_t>(number);
    if (!layer || *layer < 0 || *layer >= layers) {
      config.fail("moe_layers_enum", "must list layer numbers separated by commas");
    }
    listed[static_cast<std::size_t>(*layer)] = true;
  }
  return listed;
}

std::vector<bool> step3_expert_layers(const Fields& config, std::int64_t layers) {
  if (config.has("moe_layers_enum")) {
    return listed_layers(config, config.text({"moe_layers_enum"}), layers);
  }
  const std::int64_t dense = config.count_or({"first_k_dense_replace"}, 1, layers);
  std::vector<bool> has_experts;
  for (std::int64_t i = 0; i < layers; ++i) has_experts.push_back(i >= dense);
  return has_experts;
}

/// Windowed layers have their own head counts if the config states them.
Attention step3_windowed(const Fields& config, const Attention& full, Transformer& model) {
  Attention a = full;
  a.span = sliding(config.size({"sliding_window"}, kLongestContext));
  const auto other = config.object("attention_other_setting");
  if (!other) {
    model.notes.push_back(
        "no 'attention_other_setting' in the config: windowed layers are assumed to have the heads "
        "of full layers");
    return a;
  }
  a.query_heads = other->size_or({"num_attention_heads"}, a.query_heads, kMaxHeads);
  a.kv_heads = other->size_or({"num_attention_groups"}, a.kv_heads, kMaxHeads);
  a.head_dim = other->size_or({"head_dim"}, a.head_dim);
  a.value_head_dim = a.head_dim;
  a.qk_norm_elements = per_head_qk_norm(a);
  return a;
}

}  // namespace

// Step-3.5 and 3.7: norms of queries and keys per head; optionally one sigmoid gate per head.
void build_step3(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention full = grouped_attention(config);
  full.qk_norm_elements = per_head_qk_norm(full);
  const Attention windowed = step3_windowed(config, full, model);
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = config.size({"share_expert_dim", "share_expert_dims"}, kWidestFfn);
  moe.router_bias = config.flag({"use_moe_router_bias"}, false);
  const bool gated_heads = config.flag({"use_head_wise_attn_gate"}, false);
  const auto types = layer_texts(config, "layer_types", layers);
  if (types.empty()) config.fail("layer_types", "is missing");
  const std::vector<bool> has_experts = step3_expert_layers(config, layers);
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const Attention& attention = types[i] == "sliding_attention" ? windowed : full;
    const Ffn ffn = has_experts[i] ? Ffn{moe} : Ffn{DenseFfn{.intermediate = ffn_width(config)}};
    Layer layer{.mixer = attention, .ffn = ffn, .norm_elements = 2 * model.hidden};
    if (gated_heads) {
      layer.extra.push_back(
          {.name = "g_proj", .outputs = attention.query_heads, .inputs = model.hidden});
    }
    model.layers.push_back(layer);
  }
}

}  // namespace roofcast
