#include "model/architecture/weights.hpp"

#include <utility>

#include "model/architecture/weight_list.hpp"

// The matrices of each family. Shapes follow the Hugging Face modelling code of the family named
// at each function, with the projections fused as serving engines run them (q, k and v in one
// GEMM, gate and up in one); model/README.md lists the sources. Vectors are listed too, so that
// counts are exact.
namespace roofcast {

namespace {

/// A feed-forward block's two GEMMs: (gate and) up, then down.
struct FfnMatrices {
  std::string prefix;
  Part part = Part::dense_ffn;
  std::int64_t intermediate = 0;
  bool gated = true;
  bool bias = false;
  WeightFormat format;
};

void add_ffn_matrices(const FfnMatrices& f, std::int64_t hidden, WeightList& out) {
  const std::int64_t outputs = f.intermediate * (f.gated ? 2 : 1);
  out.matrix({.name = f.prefix + (f.gated ? "gate_up_proj" : "up_proj"),
              .part = f.part,
              .outputs = outputs,
              .inputs = hidden,
              .pieces = f.intermediate,
              .split = Split::output,
              .format = f.format});
  if (f.bias) add_bias_of_last(out);
  out.matrix({.name = f.prefix + "down_proj",
              .part = f.part,
              .outputs = hidden,
              .inputs = f.intermediate,
              .pieces = f.intermediate,
              .split = Split::input,
              .format = f.format});
  if (f.bias) add_bias_of_last(out);
}

void add_ffn(const DenseFfn& f, const Layer& layer, std::int64_t hidden, WeightList& out) {
  add_ffn_matrices({.prefix = "mlp.",
                    .part = Part::dense_ffn,
                    .intermediate = f.intermediate,
                    .gated = f.gated,
                    .bias = f.bias,
                    .format = layer.ffn_format},
                   hidden, out);
}

void add_routed_experts(const MoeFfn& m, const Layer& layer, std::int64_t width, WeightList& out) {
  const std::int64_t outputs = m.expert_intermediate * (m.gated ? 2 : 1);
  Weight expert{.part = Part::experts,
                .copies = m.experts,
                .copies_used = m.experts_per_token,
                .pieces = m.expert_intermediate,
                .split = Split::expert,
                .format = layer.ffn_format};
  expert.name = m.gated ? "experts.gate_up_proj" : "experts.up_proj";
  expert.outputs = outputs;
  expert.inputs = width;
  expert.expert_split = Split::output;
  out.matrix(expert);
  if (m.expert_bias) add_bias_of_last(out);
  expert.name = "experts.down_proj";
  expert.outputs = width;
  expert.inputs = m.expert_intermediate;
  expert.expert_split = Split::input;
  out.matrix(expert);
  if (m.expert_bias) add_bias_of_last(out);
}

void add_ffn(const MoeFfn& m, const Layer& layer, std::int64_t hidden, WeightList& out) {
  out.matrix({.name = "router",
              .part = Part::router,
              .outputs = m.experts,
              .inputs = hidden,
              .format = out.vectors});
  if (m.router_bias) add_bias_of_last(out);
  if (m.latent > 0) {
    out.matrix({.name = "experts.latent_in",
                .part = Part::experts,
                .outputs = m.latent,
                .inputs = hidden,
                .format = layer.ffn_format});
    out.matrix({.name = "experts.latent_out",
                .part = Part::experts,
                .outputs = hidden,
                .inputs = m.latent,
                .format = layer.ffn_format});
  }
  add_routed_experts(m, layer, m.latent > 0 ? m.latent : hidden, out);
  if (m.shared_intermediate == 0) return;
  add_ffn_matrices({.prefix = "shared_experts.",
                    .part = Part::shared_experts,
                    .intermediate = m.shared_intermediate,
                    .gated = m.gated,
                    .format = layer.shared_format},
                   hidden, out);
  if (m.shared_gate) {
    out.matrix({.name = "shared_expert_gate",
                .part = Part::shared_experts,
                .outputs = 1,
                .inputs = hidden,
                .format = out.vectors});
  }
}

void add_ffn(std::monostate, const Layer&, std::int64_t, WeightList&) {}

bool is_recurrent(const Mixer& mixer) {
  return std::holds_alternative<Mamba2>(mixer) || std::holds_alternative<GatedDeltaNet>(mixer) ||
         std::holds_alternative<LightningAttention>(mixer);
}

void add_extra(const ExtraWeight& extra, Part part, WeightList& out) {
  Weight weight{.name = extra.name,
                .part = part,
                .outputs = extra.outputs,
                .inputs = extra.inputs,
                .multiplies = extra.multiplies,
                .format = extra.format};
  out.matrix(std::move(weight));
}

}  // namespace

std::string_view name_of(Part part) {
  switch (part) {
    case Part::embedding:
      return "embedding";
    case Part::positions:
      return "positions";
    case Part::attention:
      return "attention";
    case Part::state_mixer:
      return "state_mixer";
    case Part::dense_ffn:
      return "dense_ffn";
    case Part::experts:
      return "experts";
    case Part::shared_experts:
      return "shared_experts";
    case Part::router:
      return "router";
    case Part::norms:
      return "norms";
    case Part::lm_head:
      return "lm_head";
  }
  return "unknown";
}

void add_bias_of_last(WeightList& list) {
  Weight bias = list.weights.back();
  bias.name += ".bias";
  if (bias.split == Split::input) {
    bias.split = Split::replicated;
    bias.pieces = 0;
  }
  if (bias.split == Split::expert && bias.expert_split == Split::input) {
    bias.expert_split = Split::replicated;
  }
  list.vector(std::move(bias));
}

std::vector<Weight> layer_weights(const Layer& layer, std::int64_t hidden, DType activation) {
  WeightList out{.weights = {}, .vectors = plain_format(activation)};
  add_mixer_weights(layer, hidden, out);
  std::visit([&](const auto& ffn) { add_ffn(ffn, layer, hidden, out); }, layer.ffn);
  const Part mixer_part = is_recurrent(layer.mixer) ? Part::state_mixer : Part::attention;
  for (const ExtraWeight& extra : layer.extra) {
    add_extra(extra, extra.of_ffn ? Part::dense_ffn : mixer_part, out);
  }
  out.vector({.name = "norms", .part = Part::norms, .outputs = layer.norm_elements});
  return std::move(out.weights);
}

std::vector<Weight> end_weights(const Transformer& model) {
  WeightList out{.weights = {}, .vectors = plain_format(model.activation)};
  out.matrix({.name = "embedding",
              .part = Part::embedding,
              .outputs = model.vocabulary,
              .inputs = model.hidden,
              .split = Split::vocabulary,
              .multiplies = false,
              .format = model.embedding_format});
  if (model.per_layer_embedding > 0) {
    const auto layers = static_cast<std::int64_t>(model.layers.size());
    out.matrix({.name = "per_layer_embedding",
                .part = Part::embedding,
                .outputs = model.vocabulary,
                .inputs = layers * model.per_layer_embedding,
                .split = Split::vocabulary,
                .multiplies = false,
                .format = model.embedding_format});
  }
  for (const ExtraWeight& extra : model.extra) add_extra(extra, Part::embedding, out);
  if (model.learned_positions > 0) {
    out.matrix({.name = "positions",
                .part = Part::positions,
                .outputs = model.learned_positions,
                .inputs = model.hidden,
                .multiplies = false,
                .format = model.embedding_format});
  }
  out.vector({.name = "final_norm", .part = Part::norms, .outputs = model.final_norm_elements});
  if (!model.tied_embeddings) out.matrix(lm_head_matrix(model));
  if (model.lm_head_bias) {
    out.vector({.name = "lm_head.bias",
                .part = Part::lm_head,
                .outputs = model.vocabulary,
                .split = Split::vocabulary});
  }
  return std::move(out.weights);
}

Weight lm_head_matrix(const Transformer& model) {
  return {.name = "lm_head",
          .part = Part::lm_head,
          .outputs = model.vocabulary,
          .inputs = model.hidden,
          .split = Split::vocabulary,
          .format = model.tied_embeddings ? model.embedding_format : model.lm_head_format};
}

}  // namespace roofcast
