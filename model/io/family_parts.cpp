#include "model/io/family_parts.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace roofcast {

std::int64_t layer_count(const Fields& config) {
  return config.size({"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, kMaxLayers);
}

namespace {

// Order of the names as vLLM resolves them (vllm/config/model.py, get_total_num_kv_heads).
std::int64_t kv_heads_of(const Fields& config, std::int64_t query_heads) {
  return config.size_or({"n_head_kv", "num_kv_heads", "num_key_value_heads", "n_kv_heads",
                         "multi_query_group_num", "num_attention_groups"},
                        query_heads, kMaxHeads);
}

std::int64_t head_dim_of(const Fields& config, std::int64_t query_heads) {
  if (const auto stated = config.count({"head_dim", "attention_head_dim", "hidden_size_per_head"});
      stated && *stated > 0) {
    return *stated;
  }
  const std::int64_t hidden = config.size({"hidden_size", "n_embd", "d_model", "n_embed"});
  if (hidden % query_heads != 0) {
    config.fail("head_dim",
                fmt::format("is missing, and hidden size {} is not divisible by {} attention heads",
                            hidden, query_heads));
  }
  return hidden / query_heads;
}

}  // namespace

Attention grouped_attention(const Fields& config) {
  Attention a;
  a.query_heads = config.size({"num_attention_heads", "n_head", "num_heads", "n_heads"}, kMaxHeads);
  a.kv_heads = kv_heads_of(config, a.query_heads);
  if (a.query_heads % a.kv_heads != 0) {
    config.fail("num_attention_heads", fmt::format("is {}, which is not divisible by {} KV heads",
                                                   a.query_heads, a.kv_heads));
  }
  a.head_dim = head_dim_of(config, a.query_heads);
  a.value_head_dim = a.head_dim;
  return a;
}

std::int64_t per_head_qk_norm(const Attention& a) { return 2 * a.head_dim; }

std::int64_t full_width_qk_norm(const Attention& a) {
  return (a.query_heads + a.kv_heads) * a.head_dim;
}

AttentionSpan sliding(std::int64_t tokens) {
  return {.kind = AttentionSpan::Kind::sliding, .tokens = tokens};
}

AttentionSpan window_of(const Fields& config) {
  const auto window = config.count({"sliding_window"}, kLongestContext);
  if (!window || *window == 0 || !config.flag({"use_sliding_window"}, true)) return {};
  const auto context = config.count({"max_position_embeddings"}, kLongestContext);
  if (context && *window >= *context) return {};
  return sliding(*window);
}

std::int64_t ffn_width(const Fields& config) {
  return config.size({"intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim"}, kWidestFfn);
}

MoeFfn routed_experts(const Fields& config, Names width) {
  config.pass_over({"intermediate_size"});  // that of dense layers, where there are any
  MoeFfn moe;
  moe.experts = config.size(
      {"num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts"}, kMaxExperts);
  moe.experts_per_token =
      config.size({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                   "top_k_experts", "moe_topk", "moe_top_k", "num_selected_experts"},
                  kMaxExperts);
  if (moe.experts_per_token > moe.experts) {
    config.fail("num_experts_per_tok",
                fmt::format("is {}, more than the {} experts", moe.experts_per_token, moe.experts));
  }
  moe.expert_intermediate = config.size(width, kWidestFfn);
  return moe;
}

std::int64_t shared_width(const Fields& config, std::int64_t expert_width) {
  if (const auto width = config.count(
          {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"}, kWidestFfn)) {
    return *width;
  }
  return config.count_or({"n_shared_experts", "num_shared_experts"}, 0, kMaxExperts) * expert_width;
}

namespace {

template <class Value>
std::vector<Value> checked_length(const Fields& config, std::string_view key,
                                  std::vector<Value> values, std::int64_t layers) {
  if (values.empty() || static_cast<std::int64_t>(values.size()) == layers) return values;
  config.fail(key, fmt::format("has {} entries for {} layers", values.size(), layers));
}

}  // namespace

std::vector<std::string> layer_texts(const Fields& config, std::string_view key,
                                     std::int64_t layers) {
  return checked_length(config, key, config.texts(key), layers);
}

std::vector<std::int64_t> layer_counts(const Fields& config, std::string_view key,
                                       std::int64_t layers) {
  return checked_length(config, key, config.counts(key), layers);
}

void add_layers(Transformer& model, std::int64_t count, const Layer& layer) {
  model.layers.insert(model.layers.end(), static_cast<std::size_t>(count), layer);
}

}  // namespace roofcast
