// Dense models with grouped-query attention. Shapes follow the Hugging Face modelling code of each
// family; parameter totals are checked in tests/model/io/families_test.cpp.
#include "base/error.hpp"
#include "model/io/families.hpp"
#include "model/io/family_parts.hpp"

namespace roofcast {

namespace {

/// Two RMS norms per layer, one at the end.
void use_rms_norms(Transformer& model, Layer& layer) {
  layer.norm_elements = 2 * model.hidden;
  model.final_norm_elements = model.hidden;
}

DenseFfn gated_ffn(const Fields& config) {
  return {.intermediate = ffn_width(config), .bias = config.flag({"mlp_bias"}, false)};
}

}  // namespace

// Llama, Mistral, Granite, Seed-OSS, MiMo: `attention_bias` adds biases to q, k, v and (Llama) the
// output; Seed-OSS and MiMo have a separate key for the output. A window applies to all layers
// unless layer_types names some (Ministral).
void build_llama(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.qkv_bias = config.flag({"attention_bias"}, false);
  const bool output_default = attention.qkv_bias && model.model_type == "llama";
  attention.output_bias = config.flag({"attention_out_bias"}, output_default);
  Layer layer{.mixer = attention, .ffn = gated_ffn(config)};
  use_rms_norms(model, layer);
  const auto types = layer_texts(config, "layer_types", layers);
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const bool windowed = types.empty() || types[i] == "sliding_attention";
    attention.span = windowed ? window_of(config) : AttentionSpan{};
    layer.mixer = attention;
    model.layers.push_back(layer);
  }
}

// Biases on q, k and v are part of the architecture. A window, if enabled, applies from layer
// `max_window_layers` on (transformers, Qwen2Config).
void build_qwen2(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.qkv_bias = true;
  Layer layer{.mixer = attention, .ffn = gated_ffn(config)};
  use_rms_norms(model, layer);
  const AttentionSpan window =
      config.flag({"use_sliding_window"}, false) ? window_of(config) : AttentionSpan{};
  const std::int64_t first_windowed = config.count_or({"max_window_layers"}, layers);
  for (std::int64_t i = 0; i < layers; ++i) {
    attention.span = i >= first_windowed ? window : AttentionSpan{};
    layer.mixer = attention;
    model.layers.push_back(layer);
  }
}

void build_qwen3(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  attention.qk_norm_elements = per_head_qk_norm(attention);
  Layer layer{.mixer = attention, .ffn = gated_ffn(config)};
  use_rms_norms(model, layer);
  add_layers(model, layer_count(config), layer);
}

// Fused qkv and gate_up: the same elements.
void build_phi3(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.span = window_of(config);
  Layer layer{.mixer = attention, .ffn = gated_ffn(config)};
  use_rms_norms(model, layer);
  add_layers(model, layer_count(config), layer);
}

// OLMo-2: norms after attention and feed-forward, and of queries and keys over their full width.
void build_olmo2(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  attention.qk_norm_elements = full_width_qk_norm(attention);
  Layer layer{.mixer = attention, .ffn = gated_ffn(config)};
  use_rms_norms(model, layer);
  add_layers(model, layer_count(config), layer);
}

// Biases everywhere, LayerNorm (gain and bias), a learned position table.
void build_gpt2(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = true;
  const std::int64_t width = config.size_or({"n_inner"}, 4 * model.hidden, kWidestFfn);
  const Layer layer{.mixer = attention,
                    .ffn = DenseFfn{.intermediate = width, .gated = false, .bias = true},
                    .norm_elements = 4 * model.hidden};
  model.final_norm_elements = 2 * model.hidden;
  model.learned_positions = config.size({"n_positions", "n_ctx"}, kLargestVocabulary);
  add_layers(model, layer_count(config), layer);
}

// Encoders: LayerNorms (gain and bias) after both blocks and after the embeddings, tables of
// positions and of token types, biases everywhere. RoBERTa's first two positions are its padding's
// (padding_idx + 1). The checkpoint's pooler is a matrix on the first token; engines that return
// embeddings leave it out.
void build_bert(const Fields& config, Transformer& model) {
  const std::string positions = config.text({"position_embedding_type"});
  if (!positions.empty() && positions != "absolute") {
    config.fail("position_embedding_type", "is not modelled, expected absolute");
  }
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = true;
  attention.span.kind = AttentionSpan::Kind::both;
  const Layer layer{
      .mixer = attention,
      .ffn = DenseFfn{.intermediate = ffn_width(config), .gated = false, .bias = true},
      .norm_elements = 4 * model.hidden};
  model.final_norm_elements = 2 * model.hidden;  // the embeddings' norm
  model.learned_positions = config.size({"max_position_embeddings"}, kLargestVocabulary);
  // RoBERTa's positions begin after the padding token's (vLLM 0.19, models/roberta.py;
  // transformers' RobertaConfig has pad_token_id 1).
  const bool roberta =
      model.model_type.find("roberta") != std::string::npos || model.model_type == "camembert";
  const std::int64_t first =
      roberta ? config.count_or({"pad_token_id"}, 1, kLargestVocabulary) + 1 : 0;
  model.max_context = model.learned_positions - (model.learned_positions > first ? first : 0);
  model.extra.push_back({.name = "token_types",
                         .outputs = config.size_or({"type_vocab_size"}, 2, kLargestVocabulary),
                         .inputs = model.hidden,
                         .multiplies = false});
  model.extra.push_back(
      {.name = "pooler", .outputs = model.hidden, .inputs = model.hidden + 1, .multiplies = false});
  add_layers(model, layer_count(config), layer);
}

// The old architecture (7B) with multi_query has one KV head whatever num_kv_heads states
// (transformers, FalconAttention). LayerNorms have biases: one before both blocks if they run in
// parallel, two in the new architecture unless `num_ln_in_parallel_attn` is 1, two if serial.
void build_falcon(const Fields& config, Transformer& model) {
  const bool new_architecture = config.flag({"new_decoder_architecture"}, false);
  Attention attention = grouped_attention(config);
  if (!new_architecture) {
    attention.kv_heads = config.flag({"multi_query"}, true) ? 1 : attention.query_heads;
  }
  const bool bias = config.flag({"bias"}, false);
  attention.qkv_bias = attention.output_bias = bias;
  const bool parallel = new_architecture || config.flag({"parallel_attn"}, true);
  const std::int64_t norms =
      parallel ? config.size_or({"num_ln_in_parallel_attn"}, new_architecture ? 2 : 1, 2) : 2;
  const std::int64_t width = config.size_or({"ffn_hidden_size"}, 4 * model.hidden, kWidestFfn);
  const Layer layer{.mixer = attention,
                    .ffn = DenseFfn{.intermediate = width, .gated = false, .bias = bias},
                    .norm_elements = norms * 2 * model.hidden};
  model.final_norm_elements = 2 * model.hidden;
  add_layers(model, layer_count(config), layer);
}

namespace {

// vLLM, nemotron_nas.py: two thirds of ffn_mult * hidden * 2... rounded up to a multiple of 256.
std::int64_t width_of_multiplier(double multiplier, std::int64_t hidden, const Fields& ffn) {
  constexpr std::int64_t kMultiple = 256;
  const double width = 2.0 * multiplier * static_cast<double>(hidden) / 3.0;
  if (!(width >= 1.0 && width <= static_cast<double>(kWidestFfn))) {
    ffn.fail("ffn_mult", "gives no usable feed-forward width");
  }
  const auto whole = static_cast<std::int64_t>(width);
  return (whole + kMultiple - 1) / kMultiple * kMultiple;
}

struct NasShape {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t hidden = 0;
};

void add_nas_attention(const Fields& attention, const NasShape& shape, Layer& layer) {
  if (attention.flag({"no_op"}, false)) return;
  layer.norm_elements += shape.hidden;
  if (attention.flag({"replace_with_linear"}, false)) {
    layer.extra.push_back({.name = "linear_attn", .outputs = shape.hidden, .inputs = shape.hidden});
    return;
  }
  const std::int64_t kv_heads =
      attention.has("n_heads_in_group")
          ? shape.heads / attention.size({"n_heads_in_group"}, shape.heads)
          : attention.size({"num_key_value_heads"}, shape.heads);
  layer.mixer = Attention{.query_heads = shape.heads,
                          .kv_heads = kv_heads,
                          .head_dim = shape.head_dim,
                          .value_head_dim = shape.head_dim};
}

void add_nas_ffn(const Fields& ffn, const NasShape& shape, Layer& layer) {
  if (ffn.flag({"no_op"}, false)) return;
  layer.norm_elements += shape.hidden;
  if (ffn.flag({"replace_with_linear"}, false)) {
    layer.extra.push_back(
        {.name = "linear_mlp", .outputs = shape.hidden, .inputs = shape.hidden, .of_ffn = true});
    return;
  }
  const auto multiplier = ffn.number({"ffn_mult"});
  layer.ffn =
      DenseFfn{.intermediate = multiplier ? width_of_multiplier(*multiplier, shape.hidden, ffn)
                                          : ffn.size({"intermediate_size"}, kWidestFfn)};
}

}  // namespace

// Llama-3.x-Nemotron, found by architecture search (DeciLM): every block states its own attention
// and feed-forward, either of which may be absent or a plain matrix.
void build_nemotron_nas(const Fields& config, Transformer& model) {
  NasShape shape{.heads = config.size({"num_attention_heads"}, kMaxHeads), .hidden = model.hidden};
  shape.head_dim = config.size_or({"head_dim"}, model.hidden / shape.heads);
  if (shape.head_dim < 1) config.fail("num_attention_heads", "is larger than hidden_size");
  const std::vector<Fields> blocks = config.objects("block_configs");
  config.pass_over({"num_hidden_layers"});  // their number
  if (blocks.empty() || static_cast<std::int64_t>(blocks.size()) > kMaxLayers) {
    config.fail("block_configs", "must list every block's attention and ffn");
  }
  model.final_norm_elements = model.hidden;
  for (const Fields& block : blocks) {
    const auto attention = block.object("attention");
    const auto ffn = block.object("ffn");
    if (!attention) block.fail("attention", "is missing");
    if (!ffn) block.fail("ffn", "is missing");
    Layer layer;
    add_nas_attention(*attention, shape, layer);
    add_nas_ffn(*ffn, shape, layer);
    model.layers.push_back(layer);
  }
}

}  // namespace roofcast
