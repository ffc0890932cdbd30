#include "calibrate/bind.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace roofcast {

namespace {

using kernels::KernelFamily;

/// Quantised formats for which kernels exist.
bool known_narrow(const std::string& format) {
  constexpr std::string_view kKnown[] = {"fp8", "fp8_block", "int8"};
  return std::find(std::begin(kKnown), std::end(kKnown), format) != std::end(kKnown);
}

bool can_run_attention(const kernels::Backend& backend, const CalibrationCase& c) {
  if (c.shape.latent) {
    return c.kind == CaseKind::decode_attention && backend.supports(latent_decode_of(c), c.source);
  }
  if (c.shape.head_dim != c.shape.value_dim) return false;
  if (c.kind == CaseKind::prefill_attention) return backend.supports(prefill_of(c), c.source);
  return backend.supports(decode_of(c), c.source);
}

bool can_run_experts(const kernels::Backend& backend, const CalibrationCase& c) {
  const bool plain = plain_element(c.shape.format).has_value();
  return plain && backend.supports(experts_in_of(c), c.source) &&
         backend.supports(experts_out_of(c), c.source);
}

}  // namespace

std::optional<kernels::Element> plain_element(const std::string& format) {
  for (const auto element :
       {kernels::Element::fp32, kernels::Element::fp16, kernels::Element::bf16}) {
    if (format == kernels::name_of(element)) return element;
  }
  return std::nullopt;
}

bool can_run(const kernels::Backend& backend, const CalibrationCase& c) {
  const auto sources = backend.sources(kernel_family(c, backend));
  const bool there = std::any_of(sources.begin(), sources.end(),
                                 [&](const auto& source) { return source.first == c.source; });
  if (!there) return false;
  switch (c.kind) {
    case CaseKind::gemm:
      if (kernel_family(c, backend) == KernelFamily::quantized_gemm) return true;
      if (is_int4(c.shape)) return backend.supports(int4_gemm_of(c), c.source);
      return (plain_element(c.shape.format) || known_narrow(c.shape.format)) &&
             backend.supports(gemm_of(c), c.source);
    case CaseKind::moe:
      return can_run_experts(backend, c);
    case CaseKind::prefill_attention:
    case CaseKind::decode_attention:
      return can_run_attention(backend, c);
    default:
      return true;
  }
}

BoundCase bind(Operands& operands, const CalibrationCase& c) {
  operands.begin_case();
  switch (c.kind) {
    case CaseKind::gemm:
      return bind_gemm(operands, c);
    case CaseKind::moe:
      return bind_experts(operands, c);
    case CaseKind::prefill_attention:
    case CaseKind::decode_attention:
      return bind_attention(operands, c);
    case CaseKind::copy:
    case CaseKind::nothing:
      return bind_ceiling(operands, c);
    default:
      return bind_token_operator(operands, c);
  }
}

}  // namespace roofcast
