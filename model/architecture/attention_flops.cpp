#include "model/architecture/attention_flops.hpp"

#include <algorithm>

namespace roofcast {
namespace {

double flops_of(const Attention& a, double attended) {
  return 2.0 * static_cast<double>(a.query_heads * (a.head_dim + a.value_head_dim)) * attended;
}

// Absorbed form (DeepSeek-V2, arXiv 2405.04434 section 2.1.2): scores over latent and rotary part,
// values over the latent.
double flops_of(const LatentAttention& a, double attended) {
  return 2.0 * static_cast<double>(a.query_heads * (2 * a.kv_lora_rank + a.rope_dim)) * attended;
}

template <class OtherMixer>
double flops_of(const OtherMixer&, double) {
  return 0.0;
}

template <class SparseAttention>
double indexer_flops(const SparseAttention& a, double entries) {
  return 2.0 * static_cast<double>(a.index_heads * a.index_head_dim) * entries;
}

/// One layer, one token that attends to `context` tokens including itself.
double context_flops(const Layer& layer, std::int64_t context) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) {
    // A compressed cache has fewer entries; the span counts entries, the local window tokens.
    const std::int64_t entries = context / a->cache_compression;
    const std::int64_t attended = entries > 0 ? attended_tokens(a->span, entries - 1) : 0;
    const std::int64_t local = std::min(context, a->local_tokens);
    const double scanned = static_cast<double>(entries);
    return flops_of(*a, static_cast<double>(attended + local)) + indexer_flops(*a, scanned);
  }
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) {
    const auto attended = static_cast<double>(attended_tokens(a->span, context - 1));
    return flops_of(*a, attended) + indexer_flops(*a, static_cast<double>(context));
  }
  return 0.0;
}

// Per state element and token: decay, outer product with the input, sum, product with the query,
// sum (Mamba-2's recurrence, arXiv 2405.21060 equation 1); the delta rule also reads the old value
// for the key (two more). Prefill kernels work in chunks and need somewhat more.
constexpr double kLinearStateFlops = 5.0;
constexpr double kDeltaStateFlops = 7.0;

double state_flops(const Mixer& mixer) {
  if (const auto* m = std::get_if<Mamba2>(&mixer)) {
    return kLinearStateFlops * static_cast<double>(m->heads * m->head_dim * m->state);
  }
  if (const auto* g = std::get_if<GatedDeltaNet>(&mixer)) {
    return kDeltaStateFlops * static_cast<double>(g->value_heads * g->key_dim * g->value_dim);
  }
  if (const auto* l = std::get_if<LightningAttention>(&mixer)) {
    return kLinearStateFlops * static_cast<double>(l->heads * l->head_dim * l->head_dim);
  }
  return 0.0;
}

}  // namespace

Flops attention_flops_per_token(const Transformer& model, std::int64_t context) {
  Flops total;
  if (context <= 0) return total;
  for (const Layer& layer : model.layers) total += Flops{context_flops(layer, context)};
  return total;
}

Flops state_flops_per_token(const Transformer& model) {
  Flops total;
  for (const Layer& layer : model.layers) total += Flops{state_flops(layer.mixer)};
  return total;
}

}  // namespace roofcast
