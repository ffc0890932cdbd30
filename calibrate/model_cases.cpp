// The cases of one model: its operators in a step, as listed by the model library.
#include <cmath>
#include <variant>

#include "calibrate/case_builder.hpp"
#include "model/step/deployment_operators.hpp"

namespace roofcast {

namespace {

using kernels::Element;

/// What these kernels compute: no window, and products in the activations' format.
OperatorShape full_attention(OperatorShape shape) {
  shape.window = 0;
  shape.fp8_arithmetic = false;
  return shape;
}

/// Widths of memory-bound operators, derived from the bytes that the model counts for one token
/// (model/step/deployment_operators.cpp, model/step/mixer_operators.cpp).
class TokenOperators {
 public:
  TokenOperators(const Deployment& deployment, const StepOperators& operators, Element element)
      : element_(element), bytes_(static_cast<double>(kernels::size_of(element))) {
    for (const AttentionOperator& op : operators.attention) {
      if (op.decode_shape && !op.decode_shape->latent) attention_ = *op.decode_shape;
    }
    for (const LinearOperator& op : operators.per_token) {
      if (op.shape.family == OperatorFamily::moe) picked_ = op.shape.experts_per_token;
    }
    for (const Layer& layer : deployment.model.layers) {
      if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) gated_ = dense->gated;
      if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) gated_ = moe->gated;
    }
  }

  void add(const LinearOperator& op, std::int64_t max, CaseBuilder& builder) const {
    const std::string& name = op.shape.name;
    const auto add = [&](CaseKind kind, const TokenSizes& sizes) {
      builder.add_token_operator(kind, name, sizes, op.shape_each, max);
    };
    if (name == "norms") add(CaseKind::norm, wide(op, 4, true));
    if (name == "latent_norms" || name == "gated_norm") add(CaseKind::norm, wide(op, 2, false));
    if (name == "embedding") {
      TokenSizes sizes = wide(op, 2, false);
      sizes.vocabulary = kTableRows;
      add(CaseKind::embedding, sizes);
    }
    if (name == "activation") add(CaseKind::activation, wide(op, gated_ ? 3 : 2, false));
    if (name == "sampling") {
      add(CaseKind::sampling, {.element = element_, .vocabulary = elements(op, 1)});
    }
    if (name == "top_k") {
      add(CaseKind::routing,
          {.element = element_, .experts = elements(op, 2), .experts_per_token = picked_});
    }
    if (attention_.head_dim == 0) return;
    if (name == "rope") add(CaseKind::rope, heads());
    if (name == "kv_write") add(CaseKind::kv_write, heads());
  }

 private:
  // Rows of an embedding table larger than any cache; more make no difference.
  static constexpr std::int64_t kTableRows = 65536;

  std::int64_t elements(const LinearOperator& op, int copies) const {
    return std::llround(op.shape_each / bytes_ / copies);
  }
  /// Row width for `copies` reads and writes.
  TokenSizes wide(const LinearOperator& op, int copies, bool residual) const {
    return {
        .element = element_, .hidden = elements(op, copies), .gated = gated_, .residual = residual};
  }
  TokenSizes heads() const {
    const auto cache = attention_.cache == DType::fp8 ? Element::fp8_e4m3 : element_;
    return {.element = element_,
            .query_heads = attention_.query_heads,
            .kv_heads = attention_.kv_heads,
            .head_dim = attention_.head_dim,
            .cache = cache};
  }

  Element element_;
  double bytes_;
  OperatorShape attention_{};
  std::int64_t picked_ = 1;
  bool gated_ = true;
};

}  // namespace

std::vector<CalibrationCase> model_cases(const Deployment& deployment,
                                         const kernels::Backend& backend,
                                         const CaseLimits& limits) {
  const std::optional<Element> element = element_of(deployment.model.activation);
  if (!element) return {};
  const StepOperators operators = step_operators(deployment);
  const TokenOperators token_operators(deployment, operators, *element);
  CaseBuilder builder(backend, limits);
  const auto add = [&](const std::vector<LinearOperator>& list, std::int64_t max) {
    for (const LinearOperator& op : list) {
      if (op.shape.family == OperatorFamily::gemm) builder.add_gemm(op.shape, *element, max);
      if (op.shape.family == OperatorFamily::moe) {
        builder.add_experts(op.alone_each > 0 ? op.alone_shape : op.shape, *element);
      }
      if (op.shape.family == OperatorFamily::memory_bound) token_operators.add(op, max, builder);
    }
  };
  add(operators.per_token, limits.max_tokens);
  for (const AttentionOperator& op : operators.attention) {
    if (op.decode_shape) builder.add_decode(full_attention(*op.decode_shape), *element);
    const bool latent = op.decode_shape && op.decode_shape->latent;  // no kernel for its prompts
    if (op.prefill_shape && !latent)
      builder.add_prefill(full_attention(*op.prefill_shape), *element);
  }
  add(operators.per_row, limits.max_sequences);
  return builder.take();
}

}  // namespace roofcast
