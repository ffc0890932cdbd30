#include "model/step/attention_block.hpp"

#include <variant>

namespace roofcast {

namespace {

/// Entries that a token selects; 0: all.
std::int64_t selected_by(const AttentionSpan& span) {
  return span.kind == AttentionSpan::Kind::sparse ? span.tokens : 0;
}

std::optional<BlockShapes> heads_of(const LatentAttention& a, const Parallelism& parallel,
                                    DType cache) {
  OperatorShape shape{.cache = cache,
                      .query_heads = heads_per_rank(a.query_heads, parallel.tensor),
                      .window = selected_by(a.span),
                      .entry = a.kv_lora_rank + a.rope_dim,
                      .index_heads = a.index_heads,
                      .index_dim = a.index_heads > 0 ? a.index_head_dim : 0};
  BlockShapes shapes{.decode = shape, .prefill = shape};
  shapes.decode.kv_heads = 1;
  shapes.decode.head_dim = shape.entry;
  shapes.decode.value_dim = a.kv_lora_rank;
  shapes.decode.latent = true;
  shapes.prefill.kv_heads = shape.query_heads;
  shapes.prefill.head_dim = a.nope_dim + a.rope_dim;
  shapes.prefill.value_dim = a.value_head_dim;
  return shapes;
}

std::optional<BlockShapes> heads_of(const Attention& a, const Parallelism& parallel, DType) {
  if (!a.keys_are_values || a.cache_compression == 1) return std::nullopt;
  const OperatorShape shape{.cache = DType::fp8,
                            .query_heads = heads_per_rank(a.query_heads, parallel.tensor),
                            .kv_heads = 1,
                            .head_dim = a.head_dim,
                            .value_dim = a.head_dim,
                            .latent = true,
                            .window = selected_by(a.span),
                            .entry = a.head_dim,
                            .compression = a.cache_compression,
                            .local_tokens = a.local_tokens,
                            .index_heads = a.index_heads,
                            .index_dim = a.index_heads > 0 ? a.index_head_dim : 0};
  return BlockShapes{.decode = shape, .prefill = shape};
}

template <class Other>
std::optional<BlockShapes> heads_of(const Other&, const Parallelism&, DType) {
  return std::nullopt;
}

}  // namespace

bool is_of_block(const Weight& weight) {
  return weight.multiplies && weight.part == Part::attention &&
         !weight.name.starts_with("hyper_connections");
}

std::optional<BlockShapes> block_shapes(const Layer& layer, std::int64_t hidden, DType activation,
                                        const Parallelism& parallel, DType cache) {
  std::optional<BlockShapes> shapes =
      std::visit([&](const auto& mixer) { return heads_of(mixer, parallel, cache); }, layer.mixer);
  if (!shapes) return std::nullopt;
  std::int64_t projections = 0;
  for (const Weight& whole : layer_weights(layer, hidden, activation)) {
    if (!is_of_block(whole)) continue;
    const Weight weight = shard(whole, parallel);
    projections += weight.inputs * weight.outputs;
  }
  shapes->decode.family = OperatorFamily::decode_attention;
  shapes->prefill.family = OperatorFamily::prefill_attention;
  for (OperatorShape* shape : {&shapes->decode, &shapes->prefill}) {
    shape->format = kernel_format_name(layer.mixer_format);
    shape->inputs = hidden;
    shape->projections = projections;
  }
  return shapes;
}

}  // namespace roofcast
