#include "calibrate/runtime/runnable_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/joined.hpp"

namespace roofcast::runtime {
namespace {

using kernels::Element;

[[noreturn]] void cannot_run(const Transformer& model, const std::string& what) {
  throw Error("model " + model.name + ": " + what +
              " cannot be run by roofcast's own engine, which supports attention with a KV cache "
              "per head (full or sliding window) and dense or routed feed-forward blocks");
}

int as_int(const Transformer& model, std::int64_t size) {
  if (size < 0 || size > std::numeric_limits<int>::max() / 4) cannot_run(model, "sizes this large");
  return static_cast<int>(size);
}

RunnableAttention runnable_attention(const Transformer& model, const Layer& layer) {
  if (std::holds_alternative<LatentAttention>(layer.mixer)) {
    cannot_run(model, "multi-head latent attention");
  }
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  if (attention == nullptr) cannot_run(model, "a layer without attention");
  const bool sliding = attention->span.kind == AttentionSpan::Kind::sliding;
  if (!sliding && attention->span.kind != AttentionSpan::Kind::full) {
    cannot_run(model, "chunked or sparse attention");
  }
  if (attention->value_head_dim != attention->head_dim) {
    cannot_run(model, "attention with values narrower than keys");
  }
  if (attention->keys_are_values || attention->cache_compression > 1) {
    cannot_run(model, "attention with a compressed cache");
  }
  return {.query_heads = as_int(model, attention->query_heads),
          .kv_heads = as_int(model, attention->kv_heads),
          .head_dim = as_int(model, attention->head_dim),
          .window = sliding ? as_int(model, attention->span.tokens) : 0};
}

RunnableLayer runnable_layer(const Transformer& model, const Layer& layer) {
  RunnableLayer result{.attention = runnable_attention(model, layer)};
  if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
    result.intermediate = as_int(model, dense->intermediate);
    result.gated = dense->gated;
  } else if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
    if (moe->latent > 0) cannot_run(model, "experts with a width of their own");
    if (!moe->gated) cannot_run(model, "experts without a gate");
    result.intermediate = as_int(model, moe->shared_intermediate);
    result.experts = {.count = as_int(model, moe->experts),
                      .per_token = as_int(model, moe->experts_per_token),
                      .intermediate = as_int(model, moe->expert_intermediate)};
  } else {
    cannot_run(model, "a layer without a feed-forward block");
  }
  return result;
}

/// Describes the parts of a layer that are not run.
void note_left_out(const Layer& layer, std::set<std::string>& left_out) {
  const auto& attention = std::get<Attention>(layer.mixer);
  if (attention.qkv_bias || attention.output_bias) left_out.insert("biases");
  if (attention.qk_norm_elements > 0) left_out.insert("norms of queries and keys");
  if (attention.output_gate) left_out.insert("the gate on attention's output");
  if (attention.sink_elements > 0) left_out.insert("attention sinks");
  if (attention.reuses_earlier_cache) left_out.insert("caches shared between layers");
  if (!layer.extra.empty()) left_out.insert("the " + layer.extra.front().name + " weights");
  if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
    if (dense->bias) left_out.insert("biases");
  }
  if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
    if (moe->router_bias || moe->expert_bias) left_out.insert("biases");
    if (moe->shared_gate) left_out.insert("the gate of the shared experts");
  }
}

double into_block(const RunnableLayer& layer) { return layer.gated ? 2 : 1; }

/// Calls visit(format, outputs, inputs) for each matrix of a layer outside its routed experts.
template <class Visit>
void each_matrix(const RunnableModel& model, const RunnableLayer& layer, const Visit& visit) {
  const RunnableAttention& attention = layer.attention;
  const LayerFormats& f = layer.formats;
  visit(f.query, attention.query_width(), model.hidden);
  visit(f.key, attention.kv_width(), model.hidden);
  visit(f.value, attention.kv_width(), model.hidden);
  visit(f.attention_output, model.hidden, attention.query_width());
  if (layer.intermediate > 0) {
    if (layer.gated) visit(f.gate, layer.intermediate, model.hidden);
    visit(f.up, layer.intermediate, model.hidden);
    visit(f.block_out, model.hidden, layer.intermediate);
  }
}

/// Bytes of a matrix as the engine holds it.
double matrix_bytes(const RunnableModel& model, const MatrixFormat& format, int outputs,
                    int inputs) {
  if (format) {
    return static_cast<double>(
        kernels::PackedWeight{.format = *format, .n = outputs, .k = inputs}.bytes());
  }
  return static_cast<double>(kernels::size_of(model.element)) * outputs * inputs;
}

/// By how much the quantised matrices are smaller than in the model's element.
double saved_bytes(const RunnableModel& model) {
  double saved = 0;
  const auto add = [&](const MatrixFormat& format, int outputs, int inputs) {
    if (!format) return;
    saved += matrix_bytes(model, std::nullopt, outputs, inputs) -
             matrix_bytes(model, format, outputs, inputs);
  };
  for (const RunnableLayer& layer : model.layers) each_matrix(model, layer, add);
  add(model.lm_head_format, model.vocabulary, model.hidden);
  return saved;
}

/// Throws unless rows of each matrix are whole blocks of its format.
void check_blocks(const RunnableModel& model) {
  const auto check = [&](const MatrixFormat& format, int /*outputs*/, int inputs) {
    if (!format || inputs % kernels::block_of(*format) == 0) return;
    throw Error("model " + model.name + ": rows of " + std::to_string(inputs) +
                " weights are not whole blocks of " + std::string(name_of(*format)) + ", " +
                std::to_string(kernels::block_of(*format)));
  };
  for (const RunnableLayer& layer : model.layers) each_matrix(model, layer, check);
  check(model.lm_head_format, model.vocabulary, model.hidden);
}

/// A layer's formats where all its matrices of a group share one.
LayerFormats formats_of(const Layer& layer) {
  const MatrixFormat mixer = quantized_format_of(layer.mixer_format);
  // Experts have plain kernels only.
  const bool dense = std::holds_alternative<DenseFfn>(layer.ffn);
  const MatrixFormat ffn =
      dense ? quantized_format_of(layer.ffn_format) : quantized_format_of(layer.shared_format);
  return {.query = mixer,
          .key = mixer,
          .value = mixer,
          .attention_output = mixer,
          .gate = ffn,
          .up = ffn,
          .block_out = ffn};
}

/// Matrix parameters of one layer: all, or those that one token multiplies.
double matrix_parameters(const RunnableModel& model, const RunnableLayer& layer, bool used_only) {
  const double hidden = model.hidden;
  const RunnableAttention& attention = layer.attention;
  const double projections = hidden * (attention.qkv_width() + attention.query_width());
  const double block = hidden * layer.intermediate * (into_block(layer) + 1);
  const RunnableExperts& experts = layer.experts;
  const double multiplied = used_only ? experts.per_token : experts.count;
  const double routed = multiplied * 3 * hidden * experts.intermediate;
  return projections + block + routed + hidden * experts.count;
}

}  // namespace

kernels::Element element_of(DType activation) {
  switch (activation) {
    case DType::bf16:
      return Element::bf16;
    case DType::fp16:
      return Element::fp16;
    case DType::fp32:
      return Element::fp32;
    default:
      throw Error("activations in " + std::string(name_of(activation)) +
                  " cannot be run: expected fp32, fp16 or bf16");
  }
}

MatrixFormat quantized_format_of(const WeightFormat& format) {
  if (format.name == "awq" || format.name == "gptq") return kernels::QuantizedFormat::int4;
  return kernels::quantized_format_named(format.name);
}

bool is_quantized(const RunnableModel& model) {
  bool any = model.lm_head_format.has_value();
  for (const RunnableLayer& layer : model.layers) {
    each_matrix(model, layer, [&](const MatrixFormat& format, int /*outputs*/, int /*inputs*/) {
      any = any || format.has_value();
    });
  }
  return any;
}

std::string weight_format_text(const RunnableModel& model) {
  std::map<std::string, double> bytes;
  const auto add = [&](const MatrixFormat& format, int outputs, int inputs) {
    const std::string name(format ? name_of(*format) : name_of(model.element));
    bytes[name] += matrix_bytes(model, format, outputs, inputs);
  };
  for (const RunnableLayer& layer : model.layers) each_matrix(model, layer, add);
  if (bytes.empty()) return std::string(name_of(model.element));
  std::vector<std::pair<std::string, double>> sorted(bytes.begin(), bytes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return joined(sorted, [](const auto& one) { return one.first; });
}

RunnableModel runnable_model(const Transformer& model, Element element, std::optional<int> layers) {
  const std::size_t all = model.layers.size();
  if (layers && (*layers < 1 || static_cast<std::size_t>(*layers) > all)) {
    throw Error("model " + model.name + " has " + std::to_string(all) + " layers, not " +
                std::to_string(*layers));
  }
  RunnableModel result{.name = model.name,
                       .element = element,
                       .hidden = as_int(model, model.hidden),
                       .vocabulary = as_int(model, model.vocabulary),
                       .lm_head_format = quantized_format_of(model.lm_head_format),
                       .rotary = model.learned_positions == 0};
  std::set<std::string> left_out;
  if (model.learned_positions > 0) left_out.insert("learned positions");
  if (model.per_layer_embedding > 0) left_out.insert("per-layer embeddings");
  const std::size_t count = layers ? static_cast<std::size_t>(*layers) : all;
  for (std::size_t i = 0; i < count; ++i) {
    result.layers.push_back(runnable_layer(model, model.layers[i]));
    result.layers.back().formats = formats_of(model.layers[i]);
    note_left_out(model.layers[i], left_out);
  }
  result.left_out.assign(left_out.begin(), left_out.end());
  check_blocks(result);
  return result;
}

double multiplied_parameters(const RunnableModel& model) {
  double sum = static_cast<double>(model.hidden) * model.vocabulary;
  for (const RunnableLayer& layer : model.layers) sum += matrix_parameters(model, layer, true);
  return sum;
}

double weight_bytes(const RunnableModel& model) {
  const double hidden = model.hidden;
  double sum = 2 * hidden * model.vocabulary + hidden;  // embedding, LM head, final norm
  for (const RunnableLayer& layer : model.layers) {
    sum += matrix_parameters(model, layer, false) + 2 * hidden;
  }
  return sum * static_cast<double>(kernels::size_of(model.element)) - saved_bytes(model);
}

double step_weight_bytes(const RunnableModel& model, std::int64_t tokens) {
  const double embedding = static_cast<double>(model.hidden) * model.vocabulary;
  double untouched = embedding;
  for (const RunnableLayer& layer : model.layers) {
    const RunnableExperts& experts = layer.experts;
    if (experts.count == 0) continue;
    const double missed = std::pow(1.0 - static_cast<double>(experts.per_token) / experts.count,
                                   static_cast<double>(tokens));
    untouched += missed * experts.count * 3.0 * model.hidden * experts.intermediate;
  }
  return weight_bytes(model) - untouched * static_cast<double>(kernels::size_of(model.element));
}

double kv_bytes_per_token(const RunnableModel& model) {
  double elements = 0;
  for (const RunnableLayer& layer : model.layers) elements += 2.0 * layer.attention.kv_width();
  return elements * static_cast<double>(kernels::size_of(model.element));
}

double attended_kv_bytes(const RunnableModel& model, double tokens) {
  double elements = 0;
  for (const RunnableLayer& layer : model.layers) {
    const RunnableAttention& attention = layer.attention;
    const double seen = attention.window > 0 ? std::min<double>(attention.window, tokens) : tokens;
    elements += 2.0 * attention.kv_width() * seen;
  }
  return elements * static_cast<double>(kernels::size_of(model.element));
}

}  // namespace roofcast::runtime
