#include "model/memory/activation_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/quantity.hpp"
#include "model/architecture/experts.hpp"

namespace roofcast {
namespace {

/// Elements per token in the fused experts' two buffers: the first holds gate and up (or the
/// outgoing hidden state), the second their product (or the input), each for every chosen expert
/// (vllm model_executor/layers/fused_moe, workspace13 and workspace2; TensorRT-LLM
/// cutlass_kernels/moe_gemm/moe_kernels.cu, overlapped_gemm1_gemm2_inputs and _outputs).
double expert_elements_per_token(const MoeFfn& experts, std::int64_t hidden,
                                 const Parallelism& parallel) {
  const int split = parallel.expert_parallel ? 1 : parallel.tensor;
  const auto width = static_cast<double>(experts.expert_intermediate) / split;
  const auto input = static_cast<double>(experts.latent > 0 ? experts.latent : hidden);
  const double first = std::max((experts.gated ? 2.0 : 1.0) * width, input);
  const double second = std::max(width, input);
  return static_cast<double>(experts.experts_per_token) * (first + second);
}

std::int64_t attention_width(const Layer& layer) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) return a->query_heads * a->head_dim;
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) {
    return a->query_heads * (a->nope_dim + a->rope_dim);
  }
  return 0;
}

/// aiconfigurator's coefficients for dense and expert models at TP 1, 2, 4 and more.
double tensorrt_coefficient(bool has_experts, int tensor) {
  constexpr double kDense[] = {11.0, 6.5, 5.0};
  constexpr double kExperts[] = {22.0, 13.0, 10.0};
  const int column = tensor >= 4 ? 2 : (tensor >= 2 ? 1 : 0);
  return has_experts ? kExperts[column] : kDense[column];
}

/// Elements per token that a rank holds for its experts when attention is data-parallel: the
/// gathered and returned states, and the experts' two buffers in the worst case, where every token
/// chose experts of this rank (TensorRT-LLM sizes its workspace this way).
double gathered_elements_per_token(const Transformer& model, const Parallelism& parallel) {
  const Parallelism split{.tensor = parallel.expert_width_ranks()};
  double elements = 0;
  for (const Layer& layer : model.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe == nullptr) continue;
    elements = std::max(elements, expert_elements_per_token(*moe, model.hidden, split) +
                                      2.0 * static_cast<double>(model.hidden));
  }
  return elements;
}

}  // namespace

ActivationShape activation_shape(const Transformer& model, const Engine& engine,
                                 const Parallelism& parallel) {
  const auto tokens = static_cast<double>(engine.max_num_batched_tokens);
  const auto sequences =
      static_cast<double>(std::min(engine.max_num_seqs, engine.max_num_batched_tokens));
  ActivationShape shape;
  shape.element_bytes = bits_of(model.activation) / 8.0;
  shape.logits = sequences * static_cast<double>(model.vocabulary);
  shape.hidden = tokens * static_cast<double>(model.hidden);
  double expert_elements = 0;
  for (const Layer& layer : model.layers) {
    if (const auto* ffn = std::get_if<DenseFfn>(&layer.ffn)) {
      const auto width = static_cast<double>(ffn->intermediate) / parallel.tensor;
      shape.intermediate = std::max(shape.intermediate, tokens * width);
    } else if (const auto* experts = std::get_if<MoeFfn>(&layer.ffn)) {
      expert_elements =
          std::max(expert_elements, expert_elements_per_token(*experts, model.hidden, parallel));
    }
  }
  shape.expert_workspace = Bytes{tokens * expert_elements * shape.element_bytes};
  if (model.vision_parameters > 0)
    shape.encoder_outputs = Bytes{shape.hidden * shape.element_bytes};
  return shape;
}

Bytes sampler_peak(const ActivationShape& shape, const MemoryConstants& constants) {
  Bytes peak{constants.logits_bytes * shape.logits + shape.element_bytes * shape.hidden};
  if (constants.keeps_expert_workspace) peak += shape.expert_workspace;
  return peak + shape.encoder_outputs;
}

Bytes forward_peak(const ActivationShape& shape, const MemoryConstants& constants) {
  const double elements =
      constants.forward_intermediate * shape.intermediate + constants.forward_hidden * shape.hidden;
  return Bytes{elements * shape.element_bytes} + shape.expert_workspace + shape.encoder_outputs;
}

ActivationPeak vllm_activation_peak(const Transformer& model, const Engine& engine,
                                    const Parallelism& parallel) {
  const MemoryConstants& constants = engine.memory;
  const ActivationShape shape = activation_shape(model, engine, parallel);
  const Bytes sampler = sampler_peak(shape, constants);
  const Bytes forward = forward_peak(shape, constants);
  const Bytes compile = engine.cuda_graphs ? constants.compile_peak : Bytes{};
  ActivationPeak peak{.bytes = std::max({sampler, forward, compile})};
  if (peak.bytes == sampler) {
    peak.detail = fmt::format("sampler pass: {:g} bytes x {} sequences x {} vocabulary + {} tokens",
                              constants.logits_bytes, engine.max_num_seqs, model.vocabulary,
                              engine.max_num_batched_tokens);
  } else if (peak.bytes == forward) {
    peak.detail = fmt::format("forward pass of {} tokens: {:g} x FFN + {:g} x hidden elements each",
                              engine.max_num_batched_tokens, constants.forward_intermediate,
                              constants.forward_hidden);
  } else {
    peak.detail =
        fmt::format("cold torch.compile (warm start: {:.2f} GiB, the larger of the two passes)",
                    to_gib(std::max(sampler, forward)));
  }
  return peak;
}

ActivationPeak tensorrt_activation_peak(const Transformer& model, const Engine& engine,
                                        const Parallelism& parallel) {
  std::int64_t width = 0;
  for (const Layer& layer : model.layers) width = std::max(width, attention_width(layer));
  // Each rank's experts receive the tokens of all ranks at once (moe_max_num_tokens is
  // max_num_tokens times the ranks by default, tensorrt_llm/_torch/model_config.py), so they are
  // counted separately.
  const bool experts = has_experts(model);
  const bool gathers = experts && parallel.data > 1;
  const auto tokens = static_cast<double>(engine.max_num_batched_tokens);
  const double coefficient = tensorrt_coefficient(experts && !gathers, parallel.tensor);
  const double own = 2.0 * tokens * static_cast<double>(width) * coefficient;
  ActivationPeak peak{.bytes = Bytes{std::max(own, 70.0 * kMiB)},
                      .detail = fmt::format("2 bytes x {} tokens x {} attention width x {:g}",
                                            engine.max_num_batched_tokens, width, coefficient)};
  if (!gathers) return peak;
  const double elements = gathered_elements_per_token(model, parallel);
  peak.bytes += Bytes{2.0 * tokens * parallel.data * elements};
  peak.detail += fmt::format("; experts: 2 bytes x {} tokens of {} ranks x {:g}",
                             engine.max_num_batched_tokens, parallel.data, elements);
  return peak;
}

}  // namespace roofcast
