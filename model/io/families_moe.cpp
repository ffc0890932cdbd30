// Mixture-of-experts models with full grouped-query attention in every layer.
#include <fmt/format.h>

#include "base/error.hpp"
#include "model/io/families.hpp"
#include "model/io/family_parts.hpp"

namespace roofcast {

namespace {

Layer with_two_norms(const Transformer& model, const Attention& attention, Ffn ffn) {
  return {.mixer = attention, .ffn = std::move(ffn), .norm_elements = 2 * model.hidden};
}

/// Qwen's pattern: experts in every `decoder_sparse_step`-th layer, except `mlp_only_layers`.
std::vector<bool> qwen_expert_layers(const Fields& config, std::int64_t layers) {
  const std::int64_t step = config.size_or({"decoder_sparse_step"}, 1, kMaxLayers);
  std::vector<bool> has_experts;
  for (std::int64_t i = 0; i < layers; ++i) has_experts.push_back((i + 1) % step == 0);
  for (const std::int64_t i : config.counts("mlp_only_layers")) {
    if (i < layers) has_experts[static_cast<std::size_t>(i)] = false;
  }
  return has_experts;
}

void add_qwen_layers(const Fields& config, Transformer& model, const Attention& attention,
                     const MoeFfn& moe) {
  const std::int64_t layers = layer_count(config);
  model.final_norm_elements = model.hidden;
  for (const bool has_experts : qwen_expert_layers(config, layers)) {
    const Ffn ffn = has_experts ? Ffn{moe} : Ffn{DenseFfn{.intermediate = ffn_width(config)}};
    model.layers.push_back(with_two_norms(model, attention, ffn));
  }
}

}  // namespace

void build_mixtral(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.span = window_of(config);
  model.final_norm_elements = model.hidden;
  add_layers(model, layer_count(config),
             with_two_norms(model, attention, routed_experts(config, {"intermediate_size"})));
}

// Shared expert with a sigmoid gate; biases on q, k and v.
void build_qwen2_moe(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.qkv_bias = config.flag({"qkv_bias"}, true);
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = config.count_or({"shared_expert_intermediate_size"}, 0, kWidestFfn);
  moe.shared_gate = moe.shared_intermediate > 0;
  add_qwen_layers(config, model, attention, moe);
}

void build_qwen3_moe(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  attention.qkv_bias = attention.output_bias = config.flag({"attention_bias"}, false);
  attention.qk_norm_elements = per_head_qk_norm(attention);
  add_qwen_layers(config, model, attention, routed_experts(config, {"moe_intermediate_size"}));
}

// GLM-4.5: the first layers are dense; the router has a score correction per expert.
void build_glm4_moe(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.qkv_bias = config.flag({"attention_bias"}, false);
  if (config.flag({"use_qk_norm"}, false)) attention.qk_norm_elements = per_head_qk_norm(attention);
  MoeFfn moe = routed_experts(config, {"moe_intermediate_size"});
  moe.shared_intermediate = shared_width(config, moe.expert_intermediate);
  moe.router_bias = true;
  model.final_norm_elements = model.hidden;
  const std::int64_t dense = config.count_or({"first_k_dense_replace"}, 1, layers);
  if (dense > 0) {
    add_layers(model, dense,
               with_two_norms(model, attention, DenseFfn{.intermediate = ffn_width(config)}));
  }
  add_layers(model, layers - dense, with_two_norms(model, attention, moe));
}

// MiniMax-M2: `intermediate_size` is the experts' width; queries and keys are normalised over the
// full width of the projections.
void build_minimax_m2(const Fields& config, Transformer& model) {
  Attention attention = grouped_attention(config);
  if (config.flag({"use_qk_norm"}, true)) {
    attention.qk_norm_elements = full_width_qk_norm(attention);
  }
  MoeFfn moe = routed_experts(config, {"intermediate_size"});
  moe.router_bias = config.flag({"use_routing_bias"}, true);
  moe.shared_intermediate = config.count_or({"shared_intermediate_size"}, 0, kWidestFfn);
  model.final_norm_elements = model.hidden;
  add_layers(model, layer_count(config), with_two_norms(model, attention, moe));
}

namespace {

/// Block-sparse attention of MiniMax-M3: an indexer scores blocks of keys and reads
/// `sparse_topk_blocks` of them. One index key per token is cached.
void make_sparse(const Fields& sparse, const Transformer& model, Layer& layer) {
  Attention& attention = std::get<Attention>(layer.mixer);
  attention.index_heads = sparse.size({"sparse_num_index_heads"}, kMaxHeads);
  attention.index_head_dim = sparse.size({"sparse_index_dim"});
  const std::int64_t blocks = sparse.size({"sparse_topk_blocks"}, kLargestVocabulary);
  attention.span = {.kind = AttentionSpan::Kind::sparse,
                    .tokens = blocks * sparse.size({"sparse_block_size"}, kWidest)};
  const std::int64_t queries = attention.index_heads * attention.index_head_dim;
  layer.extra = {
      {.name = "index_q_proj", .outputs = queries, .inputs = model.hidden},
      {.name = "index_k_proj", .outputs = attention.index_head_dim, .inputs = model.hidden},
      {.name = "index_norms", .outputs = 2 * attention.index_head_dim, .multiplies = false}};
}

}  // namespace

void build_minimax_m3(const Fields& config, Transformer& model) {
  const std::int64_t layers = layer_count(config);
  Attention attention = grouped_attention(config);
  attention.output_gate = config.flag({"attention_output_gate"}, false);
  if (config.flag({"use_qk_norm"}, true)) attention.qk_norm_elements = per_head_qk_norm(attention);
  MoeFfn moe = routed_experts(config, {"intermediate_size"});
  moe.router_bias = config.flag({"use_routing_bias"}, true);
  moe.shared_intermediate = config.count_or({"shared_intermediate_size"}, 0, kWidestFfn) *
                            config.count_or({"n_shared_experts"}, 0, kMaxExperts);
  const auto has_experts = layer_counts(config, "moe_layer_freq", layers);
  const auto sparse = config.object("sparse_attention_config");
  const auto is_sparse =
      sparse ? layer_counts(*sparse, "sparse_attention_freq", layers) : std::vector<std::int64_t>{};
  model.final_norm_elements = model.hidden;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const bool routed = has_experts.empty() || has_experts[i] != 0;
    const Ffn ffn =
        routed
            ? Ffn{moe}
            : Ffn{DenseFfn{.intermediate = config.size({"dense_intermediate_size"}, kWidestFfn)}};
    Layer layer = with_two_norms(model, attention, ffn);
    if (!is_sparse.empty() && is_sparse[i] != 0) make_sparse(*sparse, model, layer);
    model.layers.push_back(layer);
  }
}

}  // namespace roofcast
