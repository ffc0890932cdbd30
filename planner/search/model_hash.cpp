#include "planner/search/model_hash.hpp"

#include <string>
#include <variant>
#include <vector>

namespace roofcast {
namespace {

// Structured bindings name all members of a struct: a new member breaks the build here until it is
// hashed too.

void add(ContentHash& hash, const WeightFormat& format) {
  const auto& [name, bits_per_weight, compute] = format;
  hash.add_all(name, bits_per_weight, compute);
}

void add(ContentHash& hash, const AttentionSpan& span) {
  const auto& [kind, tokens] = span;
  hash.add_all(kind, tokens);
}

void add(ContentHash& hash, const Attention& attention) {
  const auto& [query_heads, kv_heads, head_dim, value_head_dim, span, qkv_bias, output_bias,
               output_gate, qk_norm_elements, sink_elements, keys_are_values, caches_both,
               reuses_earlier_cache, cache_compression, local_tokens, q_lora_rank, output_lora_rank,
               output_groups, index_heads, index_head_dim] = attention;
  add(hash, span);
  hash.add_all(query_heads, kv_heads, head_dim, value_head_dim, qkv_bias, output_bias, output_gate,
               qk_norm_elements, sink_elements, keys_are_values, caches_both, reuses_earlier_cache,
               cache_compression, local_tokens, q_lora_rank, output_lora_rank, output_groups,
               index_heads, index_head_dim);
}

void add(ContentHash& hash, const LatentAttention& attention) {
  const auto& [query_heads, q_lora_rank, kv_lora_rank, nope_dim, rope_dim, value_head_dim, span,
               index_heads, index_head_dim, bias, output_gate] = attention;
  add(hash, span);
  hash.add_all(query_heads, q_lora_rank, kv_lora_rank, nope_dim, rope_dim, value_head_dim,
               index_heads, index_head_dim, bias, output_gate);
}

void add(ContentHash& hash, const Mamba2& mixer) {
  const auto& [heads, head_dim, state, groups, conv_kernel, conv_bias, projection_bias] = mixer;
  hash.add_all(heads, head_dim, state, groups, conv_kernel, conv_bias, projection_bias);
}

void add(ContentHash& hash, const GatedDeltaNet& mixer) {
  const auto& [key_heads, value_heads, key_dim, value_dim, conv_kernel, gate_rank,
               full_output_gate] = mixer;
  hash.add_all(key_heads, value_heads, key_dim, value_dim, conv_kernel, gate_rank,
               full_output_gate);
}

void add(ContentHash& hash, const LightningAttention& mixer) {
  const auto& [heads, head_dim] = mixer;
  hash.add_all(heads, head_dim);
}

void add(ContentHash& hash, const DenseFfn& ffn) {
  const auto& [intermediate, gated, bias] = ffn;
  hash.add_all(intermediate, gated, bias);
}

void add(ContentHash& hash, const MoeFfn& ffn) {
  const auto& [experts, experts_per_token, expert_intermediate, gated, shared_intermediate,
               shared_gate, router_bias, expert_bias, latent] = ffn;
  hash.add_all(experts, experts_per_token, expert_intermediate, gated, shared_intermediate,
               shared_gate, router_bias, expert_bias, latent);
}

void add(ContentHash& /*hash*/, const std::monostate& /*none*/) {}

void add(ContentHash& hash, const ExtraWeight& weight) {
  const auto& [name, outputs, inputs, multiplies, of_ffn, format] = weight;
  hash.add_all(name, outputs, inputs, multiplies, of_ffn);
  add(hash, format);
}

void add(ContentHash& hash, const std::vector<ExtraWeight>& weights) {
  hash.add(weights.size());
  for (const ExtraWeight& weight : weights) add(hash, weight);
}

void add(ContentHash& hash, const Layer& layer) {
  const auto& [mixer, ffn, norm_elements, mixer_format, output_format, ffn_format, shared_format,
               extra] = layer;
  hash.add_all(mixer.index(), ffn.index(), norm_elements);
  std::visit([&hash](const auto& one) { add(hash, one); }, mixer);
  std::visit([&hash](const auto& one) { add(hash, one); }, ffn);
  add(hash, mixer_format);
  add(hash, output_format);
  add(hash, ffn_format);
  add(hash, shared_format);
  add(hash, extra);
}

void add(ContentHash& hash, const VisionEncoder& vision) {
  const auto& [layers, width, intermediate, patch_parameters, token_parameters, patches_per_token,
               tile_patches, windowed_layers, window_patches] = vision;
  hash.add_all(layers, width, intermediate, patch_parameters, token_parameters, patches_per_token,
               tile_patches, windowed_layers, window_patches);
}

}  // namespace

void add_model(ContentHash& hash, const Transformer& model) {
  const auto& [name, model_type, architecture, hidden, vocabulary, max_context, per_layer_embedding,
               learned_positions, tied_embeddings, lm_head_bias, layers, final_norm_elements, extra,
               embedding_format, lm_head_format, activation, state_dtype, sampling, kv_cache_dtype,
               vision_parameters, has_vision, vision_layers, vision_hidden, vision,
               next_token_layers, checkpoint_bytes, notes, source] = model;
  hash.add_all(name, model_type, architecture, hidden, vocabulary, max_context, per_layer_embedding,
               learned_positions, tied_embeddings, lm_head_bias, final_norm_elements, activation,
               state_dtype, sampling, kv_cache_dtype, vision_parameters, has_vision, vision_layers,
               vision_hidden, next_token_layers, checkpoint_bytes, source);
  add(hash, vision);
  add(hash, extra);
  add(hash, embedding_format);
  add(hash, lm_head_format);
  hash.add(layers.size());
  for (const Layer& layer : layers) add(hash, layer);
  hash.add(notes.size());
  for (const std::string& note : notes) hash.add(note);
}

}  // namespace roofcast
