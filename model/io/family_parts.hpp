// Config fields that several families read in the same way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/transformer.hpp"
#include "model/io/config_fields.hpp"

namespace roofcast {

/// Number of layers, under any of its names.
std::int64_t layer_count(const Fields& config);

/// Heads, KV heads and head dimension; full attention, no biases, no norms. Head dimension defaults
/// to hidden / heads, which must divide.
Attention grouped_attention(const Fields& config);

/// Elements of RMS norms of queries and keys: one vector each, shared by all heads.
std::int64_t per_head_qk_norm(const Attention& attention);
/// The same over the full width of the projections.
std::int64_t full_width_qk_norm(const Attention& attention);

/// `sliding_window` if it is set, enabled and shorter than the context; else full.
AttentionSpan window_of(const Fields& config);
AttentionSpan sliding(std::int64_t tokens);

/// The dense feed-forward width under any of its names.
std::int64_t ffn_width(const Fields& config);

/// Experts, experts per token and width; no shared expert, gated.
MoeFfn routed_experts(const Fields& config, Names width);

/// `n_shared_experts` times the expert width, or the width that the config states; 0: none.
std::int64_t shared_width(const Fields& config, std::int64_t expert_width);

/// The strings under `key` ("layer_types"), one per layer; empty if absent. Throws Error if the
/// list's length is not the number of layers.
std::vector<std::string> layer_texts(const Fields& config, std::string_view key,
                                     std::int64_t layers);
std::vector<std::int64_t> layer_counts(const Fields& config, std::string_view key,
                                       std::int64_t layers);

/// Appends `count` equal layers.
void add_layers(Transformer& model, std::int64_t count, const Layer& layer);

}  // namespace roofcast
