#include "model/io/model_parts.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace roofcast {

namespace {

constexpr double kMaxParameters = 1e16;

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

// Upper bounds of projection widths; each is multiplied by `hidden`.

double width(const Attention& a) {
  const double heads = static_cast<double>(a.query_heads) * 3 + static_cast<double>(a.kv_heads);
  return heads * static_cast<double>(a.head_dim + a.value_head_dim) +
         product(a.output_groups, a.output_lora_rank) + static_cast<double>(a.q_lora_rank);
}

double width(const LatentAttention& a) {
  const std::int64_t per_head = a.nope_dim + a.rope_dim + 2 * a.value_head_dim;
  return product(a.query_heads, per_head) + product(a.index_heads, a.index_head_dim) +
         static_cast<double>(a.q_lora_rank + a.kv_lora_rank + a.rope_dim + a.index_head_dim);
}

double width(const Mamba2& m) {
  return 3 * product(m.heads, m.head_dim) + 2 * product(m.groups, m.state) +
         product(m.heads, m.head_dim) * static_cast<double>(m.state + m.conv_kernel);
}

double width(const GatedDeltaNet& g) {
  const double keys = product(g.key_heads, g.key_dim);
  const double values = product(g.value_heads, g.value_dim);
  return (2 * keys + 3 * values) * static_cast<double>(1 + g.conv_kernel) +
         values * static_cast<double>(g.key_dim + g.gate_rank);
}

double width(const LightningAttention& l) {
  return product(l.heads, l.head_dim) * static_cast<double>(5 + l.head_dim);
}

double width(const DenseFfn& f) { return 3 * static_cast<double>(f.intermediate); }

double width(const MoeFfn& m) {
  return static_cast<double>(m.experts) * (1 + 3 * static_cast<double>(m.expert_intermediate)) +
         3 * static_cast<double>(m.shared_intermediate) + 2 * static_cast<double>(m.latent);
}

double width(std::monostate) { return 0; }

/// Largest product of two widths inside latent attention that does not involve `hidden`.
double inner(const Mixer& mixer) {
  if (const auto* a = std::get_if<LatentAttention>(&mixer)) {
    return width(*a) * static_cast<double>(a->q_lora_rank + a->kv_lora_rank);
  }
  if (const auto* a = std::get_if<Attention>(&mixer)) {
    return width(*a) * static_cast<double>(a->q_lora_rank + a->output_lora_rank);
  }
  return 0;
}

double upper_estimate(const Transformer& model) {
  const auto hidden = static_cast<double>(model.hidden);
  double total = 2 * product(model.hidden, model.vocabulary + model.learned_positions);
  total += product(model.vocabulary, model.per_layer_embedding) *
           static_cast<double>(model.layers.size());
  for (const Layer& layer : model.layers) {
    const double mixer = std::visit([](const auto& m) { return width(m); }, layer.mixer);
    const double ffn = std::visit([](const auto& f) { return width(f); }, layer.ffn);
    total += hidden * (mixer + ffn) + inner(layer.mixer);
    for (const ExtraWeight& extra : layer.extra) total += product(extra.outputs, extra.inputs);
  }
  return total;
}

}  // namespace

void check_bounds(const Transformer& model, const std::string& where) {
  if (model.layers.empty()) throw Error(fmt::format("{}: the model has no layers", where));
  const double estimate = upper_estimate(model);
  if (estimate > kMaxParameters) {
    throw Error(fmt::format("{}: the sizes imply about {:.1g} parameters, more than any model",
                            where, estimate));
  }
}

}  // namespace roofcast
