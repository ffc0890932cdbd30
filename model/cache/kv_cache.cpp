#include "model/cache/kv_cache.hpp"

#include <algorithm>

#include "base/ceil_divide.hpp"
#include "model/architecture/parallelism.hpp"

namespace roofcast {

namespace {

// Indexer keys of DeepSeek-V3.2 are cached in fp8 with one fp32 scale per 128 elements, whatever
// the KV cache's dtype: 128 + 4 bytes (vllm/model_executor/models/deepseek_v2.py,
// DeepseekV32IndexerCache).
constexpr std::int64_t kIndexScaleGroup = 128;
// fp8_ds_mla: the latent in fp8 with an fp32 scale per 128 elements, the rotary part in 16 bits:
// 512 + 16 + 128 = 656 bytes (vllm/v1/attention/backends/mla/flashmla_sparse.py).
constexpr std::int64_t kLatentScaleGroup = 128;
constexpr double kScaleBytes = 4.0;
// NVFP4: 4 bits plus an fp8 scale for every 16 elements (NVIDIA Blackwell format description).
constexpr double kFp4Bits = 4.5;

double element_bytes(DType dtype) {
  return (dtype == DType::fp4 ? kFp4Bits : bits_of(dtype)) / 8.0;
}

double index_key_bytes(std::int64_t elements) {
  const std::int64_t groups = ceil_divide(elements, kIndexScaleGroup);
  return static_cast<double>(elements) + static_cast<double>(groups) * kScaleBytes;
}

CacheNeed need_of(const Attention& a, const Transformer&, DType cache_dtype, int tensor) {
  CacheNeed need{.per_token = {}, .span = a.span, .per_sequence = {}};
  if (a.reuses_earlier_cache || a.span.kind == AttentionSpan::Kind::both) return need;
  const bool one_cache = a.keys_are_values && !a.caches_both;
  const std::int64_t width = one_cache ? a.head_dim : a.head_dim + a.value_head_dim;
  const double entry =
      static_cast<double>(heads_per_rank(a.kv_heads, tensor) * width) * element_bytes(cache_dtype);
  const double indexed = a.index_heads > 0 ? index_key_bytes(a.index_head_dim) : 0.0;
  need.per_token = Bytes{(entry + indexed) / static_cast<double>(a.cache_compression)};
  need.per_sequence = Bytes{entry * static_cast<double>(a.local_tokens)};
  return need;
}

// All heads share one latent, so every TP rank holds the whole of it.
CacheNeed need_of(const LatentAttention& a, const Transformer&, DType cache_dtype, int) {
  const bool sparse_fp8 = a.span.kind == AttentionSpan::Kind::sparse && bits_of(cache_dtype) == 8;
  double bytes = static_cast<double>(a.kv_lora_rank + a.rope_dim) * element_bytes(cache_dtype);
  if (sparse_fp8) {
    const std::int64_t scales = a.kv_lora_rank / kLatentScaleGroup;
    bytes = static_cast<double>(a.kv_lora_rank + 2 * a.rope_dim) +
            static_cast<double>(scales) * kScaleBytes;
  }
  if (a.index_heads > 0) bytes += index_key_bytes(a.index_head_dim);
  return {.per_token = Bytes{bytes}, .span = a.span, .per_sequence = {}};
}

/// Convolution inputs are stored in the activation dtype, the recurrent state in its own.
CacheNeed state_need(std::int64_t convolution, std::int64_t state, const Transformer& model) {
  const double bytes = static_cast<double>(convolution) * element_bytes(model.activation) +
                       static_cast<double>(state) * element_bytes(model.state_dtype);
  return {.per_token = {}, .span = {}, .per_sequence = Bytes{bytes}};
}

CacheNeed need_of(const Mamba2& m, const Transformer& model, DType, int tensor) {
  const std::int64_t inner = heads_per_rank(m.heads, tensor) * m.head_dim;
  const std::int64_t channels = inner + 2 * heads_per_rank(m.groups, tensor) * m.state;
  return state_need(channels * (m.conv_kernel - 1), inner * m.state, model);
}

CacheNeed need_of(const GatedDeltaNet& g, const Transformer& model, DType, int tensor) {
  const std::int64_t values = heads_per_rank(g.value_heads, tensor) * g.value_dim;
  const std::int64_t channels = 2 * heads_per_rank(g.key_heads, tensor) * g.key_dim + values;
  return state_need(channels * (g.conv_kernel - 1), values * g.key_dim, model);
}

CacheNeed need_of(const LightningAttention& l, const Transformer& model, DType, int tensor) {
  return state_need(0, heads_per_rank(l.heads, tensor) * l.head_dim * l.head_dim, model);
}

CacheNeed need_of(std::monostate, const Transformer&, DType, int) { return {}; }

bool keeps_all_tokens(const AttentionSpan& span) {
  return span.kind == AttentionSpan::Kind::full || span.kind == AttentionSpan::Kind::sparse;
}

}  // namespace

bool has_compressed_cache(const Transformer& model) {
  return std::ranges::any_of(model.layers, [](const Layer& layer) {
    const auto* attention = std::get_if<Attention>(&layer.mixer);
    return attention != nullptr && attention->cache_compression > 1;
  });
}

bool keeps_window(const AttentionSpan& span) {
  return span.kind == AttentionSpan::Kind::sliding || span.kind == AttentionSpan::Kind::chunked;
}

CacheNeed cache_need(const Layer& layer, const Transformer& model, DType cache_dtype, int tensor) {
  return std::visit([&](const auto& mixer) { return need_of(mixer, model, cache_dtype, tensor); },
                    layer.mixer);
}

Bytes kv_bytes_per_token(const Transformer& model, DType cache_dtype, int tensor) {
  Bytes total;
  for (const Layer& layer : model.layers) {
    total += cache_need(layer, model, cache_dtype, tensor).per_token;
  }
  return total;
}

Bytes full_attention_kv_bytes_per_token(const Transformer& model, DType cache_dtype, int tensor) {
  Bytes total;
  for (const Layer& layer : model.layers) {
    const CacheNeed need = cache_need(layer, model, cache_dtype, tensor);
    if (keeps_all_tokens(need.span)) total += need.per_token;
  }
  return total;
}

Bytes state_bytes_per_sequence(const Transformer& model, int tensor) {
  Bytes total;
  for (const Layer& layer : model.layers) {
    if (std::holds_alternative<Attention>(layer.mixer)) continue;
    total += cache_need(layer, model, model.activation, tensor).per_sequence;
  }
  return total;
}

Bytes cache_bytes_per_sequence(const Transformer& model, DType cache_dtype, std::int64_t tokens,
                               int tensor) {
  Bytes total;
  for (const Layer& layer : model.layers) {
    const CacheNeed need = cache_need(layer, model, cache_dtype, tensor);
    const std::int64_t kept =
        keeps_all_tokens(need.span) ? tokens : std::min(tokens, need.span.tokens);
    total += need.per_token * static_cast<double>(kept) + need.per_sequence;
  }
  return total;
}

}  // namespace roofcast
