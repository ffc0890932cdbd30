// Models built by hand from their published config.json, for tests that need a model without
// reading files. Field values: the config.json of each model's Hugging Face repository.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/architecture/transformer.hpp"

namespace roofcast::test {

/// The sizes shared by most decoder-only models.
struct DenseShape {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_context = 0;
  bool tied = false;
};

inline Attention grouped_query(std::int64_t query_heads, std::int64_t kv_heads,
                               std::int64_t head_dim) {
  Attention attention;
  attention.query_heads = query_heads;
  attention.kv_heads = kv_heads;
  attention.head_dim = head_dim;
  attention.value_head_dim = head_dim;
  return attention;
}

inline AttentionSpan sliding(std::int64_t tokens) {
  return {.kind = AttentionSpan::Kind::sliding, .tokens = tokens};
}

/// A pre-norm layer with two RMS norms.
inline Layer two_norm_layer(Mixer mixer, Ffn ffn, std::int64_t hidden) {
  Layer layer;
  layer.mixer = mixer;
  layer.ffn = ffn;
  layer.norm_elements = 2 * hidden;
  return layer;
}

/// Everything except the layers.
inline Transformer ends_of(const DenseShape& shape) {
  Transformer model;
  model.name = shape.name;
  model.hidden = shape.hidden;
  model.vocabulary = shape.vocabulary;
  model.max_context = shape.max_context;
  model.tied_embeddings = shape.tied;
  model.final_norm_elements = shape.hidden;
  model.source = "tests/support/shapes.hpp";
  return model;
}

/// Llama and similar models: full attention, SwiGLU, two norms.
inline Transformer llama_like(const DenseShape& shape) {
  Transformer model = ends_of(shape);
  model.model_type = "llama";
  model.architecture = "LlamaForCausalLM";
  const Layer layer =
      two_norm_layer(grouped_query(shape.query_heads, shape.kv_heads, shape.head_dim),
                     DenseFfn{.intermediate = shape.intermediate}, shape.hidden);
  model.layers.assign(static_cast<std::size_t>(shape.layers), layer);
  return model;
}

inline Transformer llama_3_1_8b() {
  return llama_like({.name = "llama-3.1-8b",
                     .layers = 32,
                     .hidden = 4096,
                     .intermediate = 14336,
                     .query_heads = 32,
                     .kv_heads = 8,
                     .head_dim = 128,
                     .vocabulary = 128256,
                     .max_context = 131072});
}

inline Transformer llama_3_1_70b() {
  return llama_like({.name = "llama-3.1-70b",
                     .layers = 80,
                     .hidden = 8192,
                     .intermediate = 28672,
                     .query_heads = 64,
                     .kv_heads = 8,
                     .head_dim = 128,
                     .vocabulary = 128256,
                     .max_context = 131072});
}

inline Transformer llama_2_70b() {
  Transformer model = llama_like({.name = "llama-2-70b",
                                  .layers = 80,
                                  .hidden = 8192,
                                  .intermediate = 28672,
                                  .query_heads = 64,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .vocabulary = 32000,
                                  .max_context = 4096});
  model.activation = DType::fp16;
  return model;
}

inline Transformer llama_3_2_1b() {
  return llama_like({.name = "llama-3.2-1b",
                     .layers = 16,
                     .hidden = 2048,
                     .intermediate = 8192,
                     .query_heads = 32,
                     .kv_heads = 8,
                     .head_dim = 64,
                     .vocabulary = 128256,
                     .max_context = 131072,
                     .tied = true});
}

/// Adds biases on q, k and v.
inline Transformer qwen2_5_7b() {
  Transformer model = llama_like({.name = "qwen2.5-7b",
                                  .layers = 28,
                                  .hidden = 3584,
                                  .intermediate = 18944,
                                  .query_heads = 28,
                                  .kv_heads = 4,
                                  .head_dim = 128,
                                  .vocabulary = 152064,
                                  .max_context = 32768});
  for (Layer& layer : model.layers) std::get<Attention>(layer.mixer).qkv_bias = true;
  return model;
}

/// Adds a norm on each query and key head; heads * head_dim differs from the model width.
inline Transformer qwen3_32b() {
  Transformer model = llama_like({.name = "qwen3-32b",
                                  .layers = 64,
                                  .hidden = 5120,
                                  .intermediate = 25600,
                                  .query_heads = 64,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .vocabulary = 151936,
                                  .max_context = 40960});
  for (Layer& layer : model.layers) std::get<Attention>(layer.mixer).qk_norm_elements = 2 * 128;
  return model;
}

inline Transformer mixtral_8x7b() {
  Transformer model = llama_like({.name = "mixtral-8x7b",
                                  .layers = 32,
                                  .hidden = 4096,
                                  .intermediate = 14336,
                                  .query_heads = 32,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .vocabulary = 32000,
                                  .max_context = 32768});
  model.model_type = "mixtral";
  model.architecture = "MixtralForCausalLM";
  MoeFfn moe;
  moe.experts = 8;
  moe.experts_per_token = 2;
  moe.expert_intermediate = 14336;
  for (Layer& layer : model.layers) layer.ffn = moe;
  return model;
}

inline Transformer qwen3_30b_a3b() {
  Transformer model = llama_like({.name = "qwen3-30b-a3b",
                                  .layers = 48,
                                  .hidden = 2048,
                                  .intermediate = 6144,
                                  .query_heads = 32,
                                  .kv_heads = 4,
                                  .head_dim = 128,
                                  .vocabulary = 151936,
                                  .max_context = 40960});
  model.model_type = "qwen3_moe";
  MoeFfn moe;
  moe.experts = 128;
  moe.experts_per_token = 8;
  moe.expert_intermediate = 768;
  for (Layer& layer : model.layers) {
    std::get<Attention>(layer.mixer).qk_norm_elements = 2 * 128;
    layer.ffn = moe;
  }
  return model;
}

/// Latent attention; three dense layers, then 58 with 256 routed experts and one shared.
inline Transformer deepseek_v3() {
  Transformer model =
      ends_of({.name = "deepseek-v3", .hidden = 7168, .vocabulary = 129280, .max_context = 163840});
  model.model_type = "deepseek_v3";
  model.architecture = "DeepseekV3ForCausalLM";
  model.next_token_layers = 1;
  LatentAttention attention;
  attention.query_heads = 128;
  attention.q_lora_rank = 1536;
  attention.kv_lora_rank = 512;
  attention.nope_dim = 128;
  attention.rope_dim = 64;
  attention.value_head_dim = 128;
  MoeFfn moe;
  moe.experts = 256;
  moe.experts_per_token = 8;
  moe.expert_intermediate = 2048;
  moe.shared_intermediate = 2048;
  moe.router_bias = true;
  model.layers.assign(3, two_norm_layer(attention, DenseFfn{.intermediate = 18432}, 7168));
  model.layers.insert(model.layers.end(), 58, two_norm_layer(attention, moe, 7168));
  return model;
}

/// DeepSeek-V3 with the lightning indexer of 64 heads of 128, reading the best 2048 tokens.
inline Transformer deepseek_v3_2() {
  Transformer model = deepseek_v3();
  model.name = "deepseek-v3.2";
  model.model_type = "deepseek_v32";
  model.architecture = "DeepseekV32ForCausalLM";
  for (Layer& layer : model.layers) {
    auto& attention = std::get<LatentAttention>(layer.mixer);
    attention.span = {.kind = AttentionSpan::Kind::sparse, .tokens = 2048};
    attention.index_heads = 64;
    attention.index_head_dim = 128;
  }
  return model;
}

/// Alternating windows of 128 and full attention, sinks, biases everywhere, mxfp4 experts.
inline Transformer gpt_oss_20b() {
  Transformer model =
      ends_of({.name = "gpt-oss-20b", .hidden = 2880, .vocabulary = 201088, .max_context = 131072});
  model.model_type = "gpt_oss";
  model.architecture = "GptOssForCausalLM";
  Attention attention = grouped_query(64, 8, 64);
  attention.qkv_bias = true;
  attention.output_bias = true;
  attention.sink_elements = 64;
  MoeFfn moe;
  moe.experts = 32;
  moe.experts_per_token = 4;
  moe.expert_intermediate = 2880;
  moe.router_bias = true;
  moe.expert_bias = true;
  for (int i = 0; i < 24; ++i) {
    attention.span = i % 2 == 0 ? sliding(128) : AttentionSpan{};
    Layer layer = two_norm_layer(attention, moe, 2880);
    // 4-bit elements with one 8-bit scale per 32 (OCP Microscaling Formats 1.0).
    layer.ffn_format = {.name = "mxfp4", .bits_per_weight = 4.25, .compute = DType::bf16};
    model.layers.push_back(layer);
  }
  return model;
}

/// Every fourth layer full attention with an output gate, the others gated delta nets.
inline Transformer gated_delta_hybrid(const DenseShape& shape, const GatedDeltaNet& linear,
                                      const Ffn& ffn) {
  Transformer model = ends_of(shape);
  model.state_dtype = DType::fp32;
  Attention attention = grouped_query(shape.query_heads, shape.kv_heads, shape.head_dim);
  attention.output_gate = true;
  attention.qk_norm_elements = 2 * shape.head_dim;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const Mixer mixer = i % 4 == 3 ? Mixer{attention} : Mixer{linear};
    model.layers.push_back(two_norm_layer(mixer, ffn, shape.hidden));
  }
  return model;
}

inline Transformer qwen3_next_80b() {
  MoeFfn moe;
  moe.experts = 512;
  moe.experts_per_token = 10;
  moe.expert_intermediate = 512;
  moe.shared_intermediate = 512;
  moe.shared_gate = true;
  Transformer model = gated_delta_hybrid(
      {.name = "qwen3-next-80b-a3b",
       .layers = 48,
       .hidden = 2048,
       .query_heads = 16,
       .kv_heads = 2,
       .head_dim = 256,
       .vocabulary = 151936,
       .max_context = 262144},
      {.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv_kernel = 4},
      moe);
  model.model_type = "qwen3_next";
  return model;
}

/// Text model of Qwen3.5/3.6-35B-A3B: 10 full and 30 delta-net layers, 256 experts.
inline Transformer qwen3_6_35b_a3b() {
  MoeFfn moe;
  moe.experts = 256;
  moe.experts_per_token = 8;
  moe.expert_intermediate = 512;
  moe.shared_intermediate = 512;
  moe.shared_gate = true;
  Transformer model = gated_delta_hybrid(
      {.name = "qwen3.6-35b-a3b",
       .layers = 40,
       .hidden = 2048,
       .query_heads = 16,
       .kv_heads = 2,
       .head_dim = 256,
       .vocabulary = 248320,
       .max_context = 262144},
      {.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv_kernel = 4},
      moe);
  model.model_type = "qwen3_5_moe";
  return model;
}

/// The cache shape of a 64-layer delta-net hybrid with 16 full layers of 4 KV heads of 256 and 48
/// value heads. Its dense feed-forward width is an assumption: only the cache is tested.
inline Transformer qwen3_27b_hybrid() {
  return gated_delta_hybrid(
      {.name = "qwen3-27b-hybrid",
       .layers = 64,
       .hidden = 5120,
       .query_heads = 24,
       .kv_heads = 4,
       .head_dim = 256,
       .vocabulary = 248320,
       .max_context = 262144},
      {.key_heads = 16, .value_heads = 48, .key_dim = 128, .value_dim = 128, .conv_kernel = 4},
      DenseFfn{.intermediate = 17408});
}

/// Nemotron-H counts mixers and feed-forward blocks as separate layers: M Mamba-2, * attention, -
/// MLP, E experts.
inline Transformer nemotron_like(const Transformer& ends, const std::string& pattern,
                                 const Layer& mamba, const Layer& attention, const Layer& ffn) {
  Transformer model = ends;
  model.model_type = "nemotron_h";
  model.architecture = "NemotronHForCausalLM";
  for (const char block : pattern) {
    const Layer& layer = block == 'M' ? mamba : block == '*' ? attention : ffn;
    model.layers.push_back(layer);
  }
  return model;
}

inline Layer one_norm_layer(Mixer mixer, Ffn ffn, std::int64_t hidden) {
  Layer layer = two_norm_layer(mixer, ffn, hidden);
  layer.norm_elements = hidden;
  return layer;
}

inline Transformer nemotron_h_56b() {
  const std::int64_t hidden = 8192;
  Transformer ends = ends_of(
      {.name = "nemotron-h-56b", .hidden = hidden, .vocabulary = 131072, .max_context = 8192});
  const Mamba2 mamba{.heads = 256, .head_dim = 64, .state = 256, .groups = 8, .conv_kernel = 4};
  // 54 Mamba-2, 10 attention and 54 MLP blocks; only their number matters here, not their order.
  const std::string pattern = std::string(54, 'M') + std::string(10, '*') + std::string(54, '-');
  return nemotron_like(ends, pattern, one_norm_layer(mamba, {}, hidden),
                       one_norm_layer(grouped_query(64, 8, 128), {}, hidden),
                       one_norm_layer({}, DenseFfn{.intermediate = 32768, .gated = false}, hidden));
}

inline Transformer nemotron_3_nano() {
  const std::int64_t hidden = 2688;
  Transformer ends = ends_of({.name = "nemotron-3-nano-30b-a3b",
                              .hidden = hidden,
                              .vocabulary = 131072,
                              .max_context = 262144});
  ends.state_dtype = DType::fp32;
  const Mamba2 mamba{.heads = 64, .head_dim = 64, .state = 128, .groups = 8, .conv_kernel = 4};
  MoeFfn moe;
  moe.experts = 128;
  moe.experts_per_token = 6;
  moe.expert_intermediate = 1856;
  moe.gated = false;
  moe.shared_intermediate = 3712;
  moe.router_bias = true;
  const std::string pattern = std::string(23, 'M') + std::string(6, '*') + std::string(23, 'E');
  return nemotron_like(ends, pattern, one_norm_layer(mamba, {}, hidden),
                       one_norm_layer(grouped_query(32, 2, 128), {}, hidden),
                       one_norm_layer({}, moe, hidden));
}

/// Five windows of 1024 to one full layer; four norms and a norm of each query and key head.
inline Transformer gemma_3_27b() {
  Transformer model = ends_of({.name = "gemma-3-27b",
                               .hidden = 5376,
                               .vocabulary = 262208,
                               .max_context = 131072,
                               .tied = true});
  model.model_type = "gemma3_text";
  model.architecture = "Gemma3ForCausalLM";
  Attention attention = grouped_query(32, 16, 128);
  attention.qk_norm_elements = 2 * 128;
  for (int i = 0; i < 62; ++i) {
    attention.span = (i + 1) % 6 == 0 ? AttentionSpan{} : sliding(1024);
    Layer layer = two_norm_layer(attention, DenseFfn{.intermediate = 21504}, 5376);
    layer.norm_elements = 4 * 5376;
    model.layers.push_back(layer);
  }
  return model;
}

/// Three layers in four attend within chunks of 8192; every layer has 16 experts, one chosen, and
/// a shared one.
inline Transformer llama_4_scout() {
  Transformer model = ends_of(
      {.name = "llama-4-scout", .hidden = 5120, .vocabulary = 202048, .max_context = 10485760});
  model.model_type = "llama4_text";
  Attention attention = grouped_query(40, 8, 128);
  MoeFfn moe;
  moe.experts = 16;
  moe.experts_per_token = 1;
  moe.expert_intermediate = 8192;
  moe.shared_intermediate = 8192;
  const AttentionSpan chunked{.kind = AttentionSpan::Kind::chunked, .tokens = 8192};
  for (int i = 0; i < 48; ++i) {
    attention.span = i % 4 == 3 ? AttentionSpan{} : chunked;
    model.layers.push_back(two_norm_layer(attention, moe, 5120));
  }
  return model;
}

/// Learned positions, biases everywhere, two-matrix MLP, layer norms with biases.
inline Transformer gpt2_small() {
  Transformer model = llama_like({.name = "gpt2",
                                  .layers = 12,
                                  .hidden = 768,
                                  .intermediate = 3072,
                                  .query_heads = 12,
                                  .kv_heads = 12,
                                  .head_dim = 64,
                                  .vocabulary = 50257,
                                  .max_context = 1024,
                                  .tied = true});
  model.model_type = "gpt2";
  model.architecture = "GPT2LMHeadModel";
  model.learned_positions = 1024;
  model.final_norm_elements = 2 * 768;
  for (Layer& layer : model.layers) {
    auto& attention = std::get<Attention>(layer.mixer);
    attention.qkv_bias = true;
    attention.output_bias = true;
    layer.ffn = DenseFfn{.intermediate = 3072, .gated = false, .bias = true};
    layer.norm_elements = 4 * 768;
  }
  return model;
}

/// 70 lightning-attention layers and 10 softmax ones, 32 experts (MiniMax-Text-01).
inline Transformer minimax_text_01() {
  const std::int64_t hidden = 6144;
  Transformer model = ends_of(
      {.name = "minimax-text-01", .hidden = hidden, .vocabulary = 200064, .max_context = 10240000});
  model.model_type = "minimax_text_01";
  MoeFfn moe;
  moe.experts = 32;
  moe.experts_per_token = 2;
  moe.expert_intermediate = 9216;
  const LightningAttention linear{.heads = 64, .head_dim = 128};
  for (int i = 0; i < 80; ++i) {
    const Mixer mixer = i % 8 == 7 ? Mixer{grouped_query(64, 8, 128)} : Mixer{linear};
    model.layers.push_back(two_norm_layer(mixer, moe, hidden));
  }
  return model;
}

}  // namespace roofcast::test
