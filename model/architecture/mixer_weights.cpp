// The weights of token mixers: attention, latent attention and recurrent mixers.
#include "model/architecture/weight_list.hpp"

namespace roofcast {

namespace {

void add_query_projection(const Attention& a, const Layer& layer, std::int64_t hidden,
                          WeightList& out, std::int64_t q_outputs) {
  out.matrix({.name = "q_a_proj",
              .outputs = a.q_lora_rank,
              .inputs = hidden,
              .format = layer.mixer_format});
  out.vector({.name = "q_a_norm", .outputs = a.q_lora_rank});
  out.matrix({.name = "q_b_proj",
              .outputs = q_outputs,
              .inputs = a.q_lora_rank,
              .pieces = a.query_heads,
              .split = Split::output,
              .format = layer.mixer_format});
}

void add_output_projection(const Attention& a, const Layer& layer, std::int64_t hidden,
                           WeightList& out) {
  const std::int64_t values = a.query_heads * a.value_head_dim;
  if (a.output_lora_rank == 0) {
    out.matrix({.name = "o_proj",
                .outputs = hidden,
                .inputs = values,
                .pieces = a.query_heads,
                .split = Split::input,
                .format = layer.mixer_format});
    if (a.output_bias) add_bias_of_last(out);
    return;
  }
  // Each group of heads has its own down-projection; together they hold values * rank elements.
  out.matrix({.name = "o_a_proj",
              .outputs = a.output_groups * a.output_lora_rank,
              .inputs = values / a.output_groups,
              .pieces = a.output_groups,
              .split = Split::output,
              .format = layer.mixer_format});
  out.matrix({.name = "o_b_proj",
              .outputs = hidden,
              .inputs = a.output_groups * a.output_lora_rank,
              .pieces = a.output_groups,
              .split = Split::input,
              .format = layer.mixer_format});
}

// Grouped-query attention (Llama and most others): h * (heads + 2 kv_heads) * head_dim + output.
void add_mixer(const Attention& a, const Layer& layer, std::int64_t hidden, WeightList& out) {
  const std::int64_t gates = a.output_gate ? 2 : 1;
  const std::int64_t q_outputs = a.query_heads * a.head_dim * gates;
  const std::int64_t kv_width = a.keys_are_values ? a.head_dim : a.head_dim + a.value_head_dim;
  const std::int64_t kv_outputs = a.reuses_earlier_cache ? 0 : a.kv_heads * kv_width;
  if (a.q_lora_rank > 0) add_query_projection(a, layer, hidden, out, q_outputs);
  const std::int64_t direct_q = a.q_lora_rank > 0 ? 0 : q_outputs;
  if (direct_q + kv_outputs > 0) {
    out.matrix({.name = "qkv_proj",
                .outputs = direct_q + kv_outputs,
                .inputs = hidden,
                .kv_heads = a.kv_heads,
                .kv_outputs = kv_outputs,
                .pieces = a.query_heads,
                .split = Split::kv_output,
                .format = layer.mixer_format});
    if (a.qkv_bias) add_bias_of_last(out);
  }
  out.vector({.name = "qk_norm", .outputs = a.qk_norm_elements});
  out.vector({.name = "sinks", .outputs = a.sink_elements, .split = Split::output});
  add_output_projection(a, layer, hidden, out);
}

// Lightning indexer of DeepSeek-V3.2: queries from the query latent, one key per token, a weight
// per head, and a layer norm (gain and bias) of the key. Replicated on every rank.
void add_indexer(const LatentAttention& a, const Layer& layer, std::int64_t hidden,
                 WeightList& out) {
  const std::int64_t query_inputs = a.q_lora_rank > 0 ? a.q_lora_rank : hidden;
  out.matrix({.name = "indexer.q_proj",
              .outputs = a.index_heads * a.index_head_dim,
              .inputs = query_inputs,
              .format = layer.mixer_format});
  out.matrix({.name = "indexer.k_proj",
              .outputs = a.index_head_dim,
              .inputs = hidden,
              .format = layer.mixer_format});
  out.vector({.name = "indexer.k_norm", .outputs = 2 * a.index_head_dim});
  out.matrix({.name = "indexer.weights_proj",
              .outputs = a.index_heads,
              .inputs = hidden,
              .format = out.vectors});
}

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1). The down-projections and
// the latent norms are on every rank; the up-projections are split by heads.
void add_mixer(const LatentAttention& a, const Layer& layer, std::int64_t hidden, WeightList& out) {
  const std::int64_t latent = a.kv_lora_rank + a.rope_dim;
  const std::int64_t q_outputs = a.query_heads * (a.nope_dim + a.rope_dim);
  if (a.q_lora_rank > 0) {
    out.matrix({.name = "qkv_a_proj",
                .outputs = a.q_lora_rank + latent,
                .inputs = hidden,
                .format = layer.mixer_format});
    if (a.bias) add_bias_of_last(out);
    out.vector({.name = "q_a_norm", .outputs = a.q_lora_rank});
    out.matrix({.name = "q_b_proj",
                .outputs = q_outputs,
                .inputs = a.q_lora_rank,
                .pieces = a.query_heads,
                .split = Split::output,
                .format = layer.mixer_format});
  } else {
    out.matrix({.name = "q_proj",
                .outputs = q_outputs,
                .inputs = hidden,
                .pieces = a.query_heads,
                .split = Split::output,
                .format = layer.mixer_format});
    out.matrix(
        {.name = "kv_a_proj", .outputs = latent, .inputs = hidden, .format = layer.mixer_format});
    if (a.bias) add_bias_of_last(out);
  }
  out.vector({.name = "kv_a_norm", .outputs = a.kv_lora_rank});
  out.matrix({.name = "kv_b_proj",
              .outputs = a.query_heads * (a.nope_dim + a.value_head_dim),
              .inputs = a.kv_lora_rank,
              .pieces = a.query_heads,
              .split = Split::output,
              .format = layer.mixer_format});
  if (a.output_gate) {
    out.matrix({.name = "gate_proj",
                .outputs = a.query_heads * a.value_head_dim,
                .inputs = hidden,
                .pieces = a.query_heads,
                .split = Split::output,
                .format = layer.mixer_format});
  }
  out.matrix({.name = "o_proj",
              .outputs = hidden,
              .inputs = a.query_heads * a.value_head_dim,
              .pieces = a.query_heads,
              .split = Split::input,
              .format = output_format_of(layer)});
  if (a.bias) add_bias_of_last(out);
  if (a.index_heads > 0) add_indexer(a, layer, hidden, out);
}

// Mamba-2 (arXiv 2405.21060): one input projection to gate, x, B, C and dt; a depthwise convolution
// over x, B and C; A, D and dt bias per head; a gated norm. Groups (B and C) are replicated once TP
// exceeds them, like KV heads.
void add_mixer(const Mamba2& m, const Layer& layer, std::int64_t hidden, WeightList& out) {
  const std::int64_t inner = m.heads * m.head_dim;
  const std::int64_t groups = 2 * m.groups * m.state;
  const Part part = Part::state_mixer;
  out.matrix({.name = "in_proj",
              .part = part,
              .outputs = 2 * inner + groups + m.heads,
              .inputs = hidden,
              .kv_heads = m.groups,
              .kv_outputs = groups,
              .pieces = m.heads,
              .split = Split::kv_output,
              .format = layer.mixer_format});
  if (m.projection_bias) add_bias_of_last(out);
  const std::int64_t taps = m.conv_kernel + (m.conv_bias ? 1 : 0);
  out.vector({.name = "conv1d",
              .part = part,
              .outputs = (inner + groups) * taps,
              .kv_heads = m.groups,
              .kv_outputs = groups * taps,
              .pieces = m.heads,
              .split = Split::kv_output});
  out.vector({.name = "a_d_dt_bias",
              .part = part,
              .outputs = 3 * m.heads,
              .pieces = m.heads,
              .split = Split::output});
  out.vector({.name = "gated_norm",
              .part = part,
              .outputs = inner,
              .pieces = m.heads,
              .split = Split::output});
  out.matrix({.name = "out_proj",
              .part = part,
              .outputs = hidden,
              .inputs = inner,
              .pieces = m.heads,
              .split = Split::input,
              .format = layer.mixer_format});
  if (m.projection_bias) add_bias_of_last(out);
}

// Gates of a delta net: full width with one decay per head (Qwen3-Next), or low rank with one
// decay per key element (Kimi Linear, arXiv 2510.26692).
void add_gates(const GatedDeltaNet& g, const Layer& layer, std::int64_t hidden, WeightList& out) {
  const Part part = Part::state_mixer;
  if (g.gate_rank == 0) {
    out.matrix({.name = "in_proj_ba",
                .part = part,
                .outputs = 2 * g.value_heads,
                .inputs = hidden,
                .pieces = g.value_heads,
                .split = Split::output,
                .format = layer.mixer_format});
    out.vector({.name = "a_dt_bias",
                .part = part,
                .outputs = 2 * g.value_heads,
                .pieces = g.value_heads,
                .split = Split::output});
    return;
  }
  const std::int64_t keys = g.key_heads * g.key_dim;
  const std::int64_t values = g.value_heads * g.value_dim;
  out.matrix({.name = "beta_proj",
              .part = part,
              .outputs = g.value_heads,
              .inputs = hidden,
              .pieces = g.value_heads,
              .split = Split::output,
              .format = layer.mixer_format});
  if (g.full_output_gate) {
    out.matrix({.name = "output_gate_proj",
                .part = part,
                .outputs = values,
                .inputs = hidden,
                .pieces = g.value_heads,
                .split = Split::output,
                .format = layer.mixer_format});
  }
  const std::int64_t low_rank = g.full_output_gate ? 1 : 2;  // the decay, and the output gate
  out.matrix({.name = "gates_a_proj",
              .part = part,
              .outputs = low_rank * g.gate_rank,
              .inputs = hidden,
              .format = layer.mixer_format});
  out.matrix({.name = "gates_b_proj",
              .part = part,
              .outputs = g.full_output_gate ? keys : keys + values,
              .inputs = g.gate_rank,
              .pieces = g.value_heads,
              .split = Split::output,
              .format = layer.mixer_format});
  out.vector(
      {.name = "a_dt_bias", .part = part, .outputs = g.value_heads + keys, .split = Split::output});
}

// Gated delta net: q, k, v and the output gate z in one projection, a depthwise convolution over
// q, k and v, a norm over one value head.
void add_mixer(const GatedDeltaNet& g, const Layer& layer, std::int64_t hidden, WeightList& out) {
  const std::int64_t keys = g.key_heads * g.key_dim;
  const std::int64_t values = g.value_heads * g.value_dim;
  const std::int64_t value_copies = g.gate_rank == 0 ? 2 : 1;
  const Part part = Part::state_mixer;
  out.matrix({.name = g.gate_rank == 0 ? "in_proj_qkvz" : "in_proj_qkv",
              .part = part,
              .outputs = 2 * keys + value_copies * values,
              .inputs = hidden,
              .kv_heads = g.key_heads,
              .kv_outputs = 2 * keys,
              .pieces = g.value_heads,
              .split = Split::kv_output,
              .format = layer.mixer_format});
  add_gates(g, layer, hidden, out);
  out.vector({.name = "conv1d",
              .part = part,
              .outputs = (2 * keys + values) * g.conv_kernel,
              .kv_heads = g.key_heads,
              .kv_outputs = 2 * keys * g.conv_kernel,
              .pieces = g.value_heads,
              .split = Split::kv_output});
  out.vector({.name = "gated_norm", .part = part, .outputs = g.value_dim});
  out.matrix({.name = "out_proj",
              .part = part,
              .outputs = hidden,
              .inputs = values,
              .pieces = g.value_heads,
              .split = Split::input,
              .format = layer.mixer_format});
}

// Lightning attention (MiniMax-01, arXiv 2501.08313): q, k and v with equal heads, an output gate
// and a norm over the full width.
void add_mixer(const LightningAttention& l, const Layer& layer, std::int64_t hidden,
               WeightList& out) {
  const std::int64_t width = l.heads * l.head_dim;
  const Part part = Part::state_mixer;
  out.matrix({.name = "qkv_proj",
              .part = part,
              .outputs = 3 * width,
              .inputs = hidden,
              .pieces = l.heads,
              .split = Split::output,
              .format = layer.mixer_format});
  out.matrix({.name = "output_gate",
              .part = part,
              .outputs = width,
              .inputs = hidden,
              .pieces = l.heads,
              .split = Split::output,
              .format = layer.mixer_format});
  out.vector({.name = "gated_norm",
              .part = part,
              .outputs = width,
              .pieces = l.heads,
              .split = Split::output});
  out.matrix({.name = "out_proj",
              .part = part,
              .outputs = hidden,
              .inputs = width,
              .pieces = l.heads,
              .split = Split::input,
              .format = layer.mixer_format});
}

void add_mixer(std::monostate, const Layer&, std::int64_t, WeightList&) {}

}  // namespace

void add_mixer_weights(const Layer& layer, std::int64_t hidden, WeightList& list) {
  std::visit([&](const auto& mixer) { add_mixer(mixer, layer, hidden, list); }, layer.mixer);
}

}  // namespace roofcast
