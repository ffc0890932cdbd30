#include "calibrate/calibration_case.hpp"

#include <fmt/format.h>

#include <cassert>

namespace roofcast {

namespace {

std::string size_text(const CalibrationCase& c) {
  const TokenSizes& s = c.sizes;
  switch (c.kind) {
    case CaseKind::gemm:
    case CaseKind::moe:
      return fmt::format("tokens={:.0f}", c.x);
    case CaseKind::prefill_attention:
      return fmt::format("new={:.0f} cached={:.0f}", c.x, c.y);
    case CaseKind::decode_attention:
      return fmt::format("sequences={:.0f} context={:.0f}", c.x, c.y);
    case CaseKind::collective:
    case CaseKind::copy:
      return fmt::format("bytes={:.0f}", c.x);
    case CaseKind::nothing:
      return "";
    case CaseKind::rope:
    case CaseKind::kv_write:
      return fmt::format("tokens={} heads={}/{} dim={}", s.tokens, s.query_heads, s.kv_heads,
                         s.head_dim);
    case CaseKind::sampling:
      return fmt::format("rows={} vocabulary={}", s.tokens, s.vocabulary);
    case CaseKind::routing:
      return fmt::format("tokens={} experts={}/{}", s.tokens, s.experts_per_token, s.experts);
    default:
      return fmt::format("tokens={} width={}", s.tokens, s.hidden);
  }
}

}  // namespace

bool is_int4(const OperatorShape& shape) {
  return shape.format == "int4" || shape.format == "awq" || shape.format == "gptq";
}

std::string shape_name(const CalibrationCase& c) {
  const OperatorShape& s = c.shape;
  switch (c.kind) {
    case CaseKind::gemm:
      return fmt::format("gemm {} N={} K={}", s.format, s.outputs, s.inputs);
    case CaseKind::moe:
      return fmt::format("moe {} {}{}x{} experts={}/{}", s.format, s.gated ? "gated " : "",
                         s.outputs, s.inputs, s.experts_per_token, s.experts);
    case CaseKind::prefill_attention:
    case CaseKind::decode_attention:
      return fmt::format("{} {} heads={}/{} dim={}/{}", name_of(s.family), name_of(s.cache),
                         s.query_heads, s.kv_heads, s.head_dim, s.value_dim);
    case CaseKind::collective:
      return fmt::format("{} {} ranks={}", name_of(s.exchange), kernels::name_of(c.element),
                         s.ranks);
    case CaseKind::copy:
      return "copy";
    case CaseKind::nothing:
      return "nothing";
    default:
      return fmt::format("{} {}{}", s.name, kernels::name_of(c.sizes.element),
                         c.kind == CaseKind::activation && !c.sizes.gated ? " not gated" : "");
  }
}

std::string name_of(const CalibrationCase& c) {
  std::string name = shape_name(c);
  if (const std::string size = size_text(c); !size.empty()) name += " " + size;
  if (c.role == CaseRole::check) name += " skewed";
  if (c.role == CaseRole::sentinel) name += " sentinel";
  return name + " [" + c.kernel + "]";
}

std::string family_of(const CalibrationCase& c) {
  if (c.role == CaseRole::sentinel) return "sentinel";
  if (c.kind == CaseKind::copy) return "copy";
  if (c.kind == CaseKind::nothing) return "launch";
  return std::string(name_of(c.shape.family));
}

std::optional<kernels::QuantizedFormat> quantized_format(const OperatorShape& shape) {
  if (shape.family != OperatorFamily::gemm) return std::nullopt;
  if (is_int4(shape)) return kernels::QuantizedFormat::int4;
  return kernels::quantized_format_named(shape.format);
}

kernels::KernelFamily kernel_family(const CalibrationCase& c, const kernels::Backend& backend) {
  assert(c.kind != CaseKind::collective);
  switch (c.kind) {
    case CaseKind::gemm:
      if (quantized_format(c.shape) && backend.multiplies_quantized()) {
        return kernels::KernelFamily::quantized_gemm;
      }
      return is_int4(c.shape) ? kernels::KernelFamily::int4_gemm : kernels::KernelFamily::gemm;
    case CaseKind::moe:
      return kernels::KernelFamily::grouped_gemm;
    case CaseKind::prefill_attention:
      return kernels::KernelFamily::prefill_attention;
    case CaseKind::decode_attention:
      return c.shape.latent ? kernels::KernelFamily::latent_decode
                            : kernels::KernelFamily::decode_attention;
    case CaseKind::copy:
    case CaseKind::nothing:
      return kernels::KernelFamily::copy;
    default:
      return kernels::KernelFamily::token_operators;
  }
}

}  // namespace roofcast
