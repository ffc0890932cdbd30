// Gemma 1 to 4. From Gemma-2 on, layers alternate between sliding windows and full attention and
// have four norms. Gemma-3's nested configs omit values equal to the class default, so those
// defaults are repeated here (transformers, configuration_gemma3.py).
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/io/families.hpp"
#include "model/io/family_parts.hpp"

namespace roofcast {

namespace {

/// True for layers with a window: by layer_types, else all but every `period`-th layer.
std::vector<bool> windowed_layers(const Fields& config, std::int64_t layers, std::int64_t period) {
  const std::vector<std::string> types = layer_texts(config, "layer_types", layers);
  std::vector<bool> windowed;
  for (std::int64_t i = 0; i < layers; ++i) {
    windowed.push_back(types.empty() ? (i + 1) % period != 0
                                     : types[static_cast<std::size_t>(i)] == "sliding_attention");
  }
  return windowed;
}

void add_alternating(Transformer& model, Layer layer, const std::vector<bool>& windowed,
                     std::int64_t window) {
  Attention attention = std::get<Attention>(layer.mixer);
  for (const bool has_window : windowed) {
    attention.span = has_window ? sliding(window) : AttentionSpan{};
    layer.mixer = attention;
    model.layers.push_back(layer);
  }
}

}  // namespace

void build_gemma(const Fields& config, Transformer& model) {
  const Layer layer{.mixer = grouped_attention(config),
                    .ffn = DenseFfn{.intermediate = ffn_width(config)},
                    .norm_elements = 2 * model.hidden};
  model.final_norm_elements = model.hidden;
  add_layers(model, layer_count(config), layer);
}

void build_gemma2(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  const Layer layer{.mixer = grouped_attention(config),
                    .ffn = DenseFfn{.intermediate = ffn_width(config)},
                    .norm_elements = 4 * model.hidden};
  model.final_norm_elements = model.hidden;
  constexpr std::int64_t kPeriod = 2;
  add_alternating(model, layer, windowed_layers(config, layers, kPeriod),
                  config.size({"sliding_window"}, kLongestContext));
}

void build_gemma3(const Fields& config, Transformer& model) {
  // Class defaults of Gemma3TextConfig.
  constexpr std::int64_t kHeads = 8;
  constexpr std::int64_t kKvHeads = 4;
  constexpr std::int64_t kHeadDim = 256;
  constexpr std::int64_t kWindow = 4096;
  constexpr std::int64_t kPeriod = 6;
  const std::int64_t layers = layer_count(config);
  Attention attention;
  attention.query_heads = config.size_or({"num_attention_heads"}, kHeads, kMaxHeads);
  attention.kv_heads = config.size_or({"num_key_value_heads"}, kKvHeads, kMaxHeads);
  attention.head_dim = config.size_or({"head_dim"}, kHeadDim);
  attention.value_head_dim = attention.head_dim;
  attention.qk_norm_elements = per_head_qk_norm(attention);
  const Layer layer{.mixer = attention,
                    .ffn = DenseFfn{.intermediate = ffn_width(config)},
                    .norm_elements = 4 * model.hidden};
  model.final_norm_elements = model.hidden;
  const std::int64_t period =
      config.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, kPeriod, kMaxLayers);
  add_alternating(model, layer, windowed_layers(config, layers, period),
                  config.size_or({"sliding_window"}, kWindow, kLongestContext));
}

namespace {

/// Sizes that all layers of a Gemma-4 model share.
struct Gemma4 {
  Attention local;
  Attention global;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t per_layer_input = 0;
  std::int64_t first_shared = 0;  // layers from here on reuse an earlier layer's cache
  bool double_wide = false;       // and have a feed-forward block of twice the width
};

Gemma4 read_gemma4(const Fields& config, std::int64_t layers, std::int64_t hidden) {
  Gemma4 g{.local = grouped_attention(config), .global = {}, .hidden = hidden};
  g.local.qk_norm_elements = per_head_qk_norm(g.local);
  g.local.span = sliding(config.size({"sliding_window"}, kLongestContext));
  g.global = g.local;
  g.global.span = {};
  g.global.head_dim = config.size_or({"global_head_dim"}, g.local.head_dim);
  g.global.value_head_dim = g.global.head_dim;
  g.global.qk_norm_elements = per_head_qk_norm(g.global);
  // Keys and values share a projection; only keys are then rotated, so engines cache both
  // (transformers modeling_gemma4.py, vllm/model_executor/models/gemma4.py).
  g.global.keys_are_values = config.flag({"attention_k_eq_v"}, false);
  g.global.caches_both = g.global.keys_are_values;
  if (g.global.keys_are_values) {
    g.global.kv_heads = config.size_or({"num_global_key_value_heads"}, g.local.kv_heads, kMaxHeads);
  }
  g.intermediate = ffn_width(config);
  g.per_layer_input = config.count_or({"hidden_size_per_layer_input"}, 0);
  g.first_shared = layers - config.count_or({"num_kv_shared_layers"}, 0, layers);
  g.double_wide = config.flag({"use_double_wide_mlp"}, false);
  return g;
}

/// Routed experts parallel to the dense block, which every token passes through and which is
/// counted as the shared expert. Plus three norms and the router's scales.
void add_gemma4_experts(const Fields& config, const Gemma4& g, Layer& layer) {
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size", "expert_intermediate_size"});
  moe.shared_intermediate = g.intermediate;
  layer.norm_elements += 3 * g.hidden;
  layer.extra.push_back({.name = "router.scales",
                         .outputs = g.hidden + moe.experts,
                         .multiplies = false,
                         .of_ffn = true});
  layer.ffn = moe;
}

void add_per_layer_input(const Gemma4& g, Layer& layer) {
  layer.extra.push_back(
      {.name = "per_layer_input_gate", .outputs = g.per_layer_input, .inputs = g.hidden});
  layer.extra.push_back(
      {.name = "per_layer_projection", .outputs = g.hidden, .inputs = g.per_layer_input});
  layer.norm_elements += g.hidden;
}

Layer gemma4_layer(const Gemma4& g, bool windowed, bool shared) {
  Attention attention = windowed ? g.local : g.global;
  if (shared) {
    attention.reuses_earlier_cache = true;
    attention.qk_norm_elements = attention.head_dim;
  }
  const std::int64_t width = g.intermediate * (shared && g.double_wide ? 2 : 1);
  constexpr std::int64_t kLayerScalar = 1;
  return {.mixer = attention,
          .ffn = DenseFfn{.intermediate = width},
          .norm_elements = 4 * g.hidden + kLayerScalar};
}

/// The second embedding table of the E models and its projection from the hidden state.
void add_per_layer_embedding(const Fields& config, const Gemma4& g, std::int64_t layers,
                             Transformer& model) {
  if (config.size_or({"vocab_size_per_layer_input"}, model.vocabulary, kLargestVocabulary) !=
      model.vocabulary) {
    config.fail("vocab_size_per_layer_input", "differs from vocab_size, which is not supported");
  }
  model.per_layer_embedding = g.per_layer_input;
  model.extra.push_back({.name = "per_layer_model_projection",
                         .outputs = layers * g.per_layer_input,
                         .inputs = g.hidden});
  model.extra.push_back(
      {.name = "per_layer_projection_norm", .outputs = g.per_layer_input, .multiplies = false});
}

}  // namespace

void build_gemma4(const Fields& config, Transformer& model) {
  constexpr std::int64_t kPeriod = 6;
  const std::int64_t layers = layer_count(config);
  const Gemma4 g = read_gemma4(config, layers, model.hidden);
  const std::vector<bool> windowed = windowed_layers(config, layers, kPeriod);
  const bool has_experts = config.flag({"enable_moe_block"}, false);
  for (std::int64_t i = 0; i < layers; ++i) {
    Layer layer = gemma4_layer(g, windowed[static_cast<std::size_t>(i)], i >= g.first_shared);
    if (has_experts) add_gemma4_experts(config, g, layer);
    if (g.per_layer_input > 0) add_per_layer_input(g, layer);
    model.layers.push_back(layer);
  }
  model.final_norm_elements = model.hidden;
  if (g.per_layer_input > 0) add_per_layer_embedding(config, g, layers, model);
}

}  // namespace roofcast
