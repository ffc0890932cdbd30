// Models in which most layers have a recurrent state of constant size and few have a KV cache.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/io/families.hpp"
#include "model/io/family_parts.hpp"

namespace roofcast {

namespace {

/// The config's dtype of the recurrent state; by default engines use the activation dtype.
void read_state_dtype(const Fields& config, Transformer& model) {
  const std::string text = config.text({"mamba_ssm_dtype", "mamba_ssm_cache_dtype"});
  if (text.empty()) return;
  const auto dtype = parse_dtype(text);
  if (!dtype) config.fail("mamba_ssm_dtype", fmt::format("is '{}', not a number format", text));
  model.state_dtype = *dtype;
}

GatedDeltaNet qwen_delta_net(const Fields& config) {
  return {.key_heads = config.size({"linear_num_key_heads"}, kMaxHeads),
          .value_heads = config.size({"linear_num_value_heads"}, kMaxHeads),
          .key_dim = config.size({"linear_key_head_dim"}),
          .value_dim = config.size({"linear_value_head_dim"}),
          .conv_kernel = config.size({"linear_conv_kernel_dim"}, kWidest)};
}

Ffn qwen_next_ffn(const Fields& config) {
  if (!config.has_any({"num_experts"})) return DenseFfn{.intermediate = ffn_width(config)};
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = config.count_or({"shared_expert_intermediate_size"}, 0, kWidestFfn);
  moe.shared_gate = moe.shared_intermediate > 0;
  return moe;
}

}  // namespace

// Qwen3-Next, Qwen3.5, Qwen3.6: gated delta nets, and full attention with an output gate in every
// `full_attention_interval`-th layer.
void build_qwen3_next(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  attention.qk_norm_elements = per_head_qk_norm(attention);
  attention.output_gate = config.flag({"attn_output_gate"}, true);
  const GatedDeltaNet delta_net = qwen_delta_net(config);
  const auto types = layer_texts(config, "layer_types", layers);
  const std::int64_t interval = config.size_or({"full_attention_interval"}, 4, kMaxLayers);
  const Ffn ffn = qwen_next_ffn(config);
  if (!config.counts("mlp_only_layers").empty()) {
    config.fail("mlp_only_layers", "is not supported for this family");
  }
  read_state_dtype(config, model);
  model.final_norm_elements = model.hidden;
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool full = types.empty() ? (i + 1) % interval == 0
                                    : types[static_cast<std::size_t>(i)] == "full_attention";
    const Mixer mixer = full ? Mixer{attention} : Mixer{delta_net};
    model.layers.push_back({.mixer = mixer, .ffn = ffn, .norm_elements = 2 * model.hidden});
  }
}

namespace {

Layer nemotron_mamba(const Fields& config) {
  return {.mixer = Mamba2{.heads = config.size({"mamba_num_heads"}, kMaxHeads),
                          .head_dim = config.size({"mamba_head_dim"}),
                          .state = config.size({"ssm_state_size"}),
                          .groups = config.size({"n_groups"}, kMaxHeads),
                          .conv_kernel = config.size({"conv_kernel"}),
                          .conv_bias = config.flag({"use_conv_bias"}, true),
                          .projection_bias = config.flag({"mamba_proj_bias"}, false)}};
}

Layer nemotron_attention(const Fields& config) {
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  return {.mixer = attention};
}

Layer nemotron_experts(const Fields& config) {
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.gated = false;  // squared ReLU
  moe.router_bias = true;
  moe.shared_intermediate = shared_width(config, moe.expert_intermediate);
  moe.latent = config.count_or({"moe_latent_size"}, 0);
  return {.ffn = moe};
}

Layer nemotron_mlp(const Fields& config) {
  return {.ffn = DenseFfn{.intermediate = ffn_width(config),
                          .gated = false,
                          .bias = config.flag({"mlp_bias"}, false)}};
}

/// 'M', 'E', '-' or '*' per sub-block, from the pattern or from layers_block_type.
std::string nemotron_pattern(const Fields& config) {
  if (config.has("hybrid_override_pattern")) return config.text({"hybrid_override_pattern"});
  const std::vector<std::string> types = config.texts("layers_block_type");
  if (types.empty()) config.fail("hybrid_override_pattern", "or 'layers_block_type' is missing");
  std::string pattern;
  for (const std::string& type : types) {
    if (type == "mamba") {
      pattern += 'M';
    } else if (type == "attention") {
      pattern += '*';
    } else if (type == "moe") {
      pattern += 'E';
    } else if (type == "mlp") {
      pattern += '-';
    } else {
      config.fail("layers_block_type",
                  fmt::format("has '{}', expected mamba, attention, moe or mlp", type));
    }
  }
  return pattern;
}

}  // namespace

// Nemotron-H and Nemotron-3: every sub-block (Mamba-2, attention, MLP, experts) is a separate layer
// with one norm.
void build_nemotron_h(const Fields& config, Transformer& model) {
  const std::string pattern = nemotron_pattern(config);
  config.pass_over({"num_hidden_layers"});  // its length
  if (static_cast<std::int64_t>(pattern.size()) > kMaxLayers) {
    config.fail("hybrid_override_pattern", "has too many layers");
  }
  read_state_dtype(config, model);
  model.final_norm_elements = model.hidden;
  for (const char block : pattern) {
    Layer layer;
    switch (block) {
      case 'M':
        layer = nemotron_mamba(config);
        break;
      case '*':
        layer = nemotron_attention(config);
        break;
      case 'E':
        layer = nemotron_experts(config);
        break;
      case '-':
        layer = nemotron_mlp(config);
        break;
      default:
        config.fail("hybrid_override_pattern",
                    fmt::format("has '{}', expected M, *, - or E", block));
    }
    layer.norm_elements = model.hidden;
    model.layers.push_back(layer);
  }
}

// MiniMax-Text-01: lightning attention (0) or softmax attention (1) by layer, experts in all. The
// state has the activation dtype, as with vLLM's mamba_cache_dtype auto.
void build_minimax_text(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  const Attention attention = grouped_attention(config);
  const LightningAttention lightning{.heads = attention.query_heads,
                                     .head_dim = attention.head_dim};
  MoeFfn moe = routed_experts(config, {"intermediate_size"});
  moe.shared_intermediate = config.count_or({"shared_intermediate_size"}, 0, kWidestFfn);
  const auto softmax = layer_counts(config, "attn_type_list", layers);
  const auto types = layer_texts(config, "layer_types", layers);
  if (softmax.empty() && types.empty()) config.fail("attn_type_list", "is missing");
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const bool full = types.empty() ? softmax[i] != 0 : types[i] == "full_attention";
    const Mixer mixer = full ? Mixer{attention} : Mixer{lightning};
    model.layers.push_back({.mixer = mixer, .ffn = moe, .norm_elements = 2 * model.hidden});
  }
}

namespace {

LatentAttention kimi_latent(const Fields& config) {
  config.pass_over({"num_key_value_heads", "head_dim"});  // of the expanded latent
  return {.query_heads = config.size({"num_attention_heads"}, kMaxHeads),
          .q_lora_rank = config.count_or({"q_lora_rank"}, 0),
          .kv_lora_rank = config.size({"kv_lora_rank"}),
          .nope_dim = config.size({"qk_nope_head_dim"}),
          .rope_dim = config.count_or({"qk_rope_head_dim"}, 0),
          .value_head_dim = config.size({"v_head_dim"}),
          .output_gate = config.flag({"mla_use_output_gate"}, false)};
}

}  // namespace

// Kimi-Linear: Kimi delta attention, and latent attention in the layers listed in
// linear_attn_config (counted from 1). Kimi-K3 adds output gates of full width, experts behind a
// narrower projection, and residuals of attention over blocks of layers (two vectors of hidden size
// before each half of a layer, 0.003 billion in all, are left out).
void build_kimi_linear(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  const auto linear = config.object("linear_attn_config");
  if (!linear) config.fail("linear_attn_config", "is missing");
  const std::int64_t heads = linear->size({"num_heads"}, kMaxHeads);
  const std::int64_t head_dim = linear->size({"head_dim"});
  const GatedDeltaNet delta{.key_heads = heads,
                            .value_heads = heads,
                            .key_dim = head_dim,
                            .value_dim = head_dim,
                            .conv_kernel = linear->size({"short_conv_kernel_size"}),
                            .gate_rank = head_dim,
                            .full_output_gate = linear->flag({"use_full_rank_gate"}, false)};
  const std::vector<std::int64_t> full = linear->counts("full_attn_layers");
  if (full.empty()) linear->fail("full_attn_layers", "is missing");
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = shared_width(config, moe.expert_intermediate);
  moe.router_bias = true;
  moe.latent = config.count_or({"routed_expert_hidden_size"}, 0);
  const LatentAttention latent = kimi_latent(config);
  const std::int64_t dense = config.count_or({"first_k_dense_replace"}, 0, layers);
  // vLLM: vllm/model_executor/layers/mamba/mamba_utils.py, kda_state_dtype.
  model.state_dtype = DType::fp32;
  model.final_norm_elements = model.hidden;
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool is_full = std::find(full.begin(), full.end(), i + 1) != full.end();
    const Ffn ffn = i < dense ? Ffn{DenseFfn{.intermediate = ffn_width(config)}} : Ffn{moe};
    model.layers.push_back({.mixer = is_full ? Mixer{latent} : Mixer{delta},
                            .ffn = ffn,
                            .norm_elements = 2 * model.hidden});
  }
}

}  // namespace roofcast
