// Binds matrix products: weights are cold, activations stay warm.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "calibrate/bind.hpp"
#include "kernels/gemm.hpp"
#include "kernels/rms_norm.hpp"

namespace roofcast {

using kernels::Element;

namespace {

// fp8 and int8 need n and k in multiples of 16 (kernels/gemm.hpp); engines pad other sizes.
constexpr int kNarrowMultiple = 16;

// Token multiple of fp8 with block scales in cuBLASLt (kernels/cuda/cublaslt_gemm.cpp); also
// padded.
constexpr std::int64_t kBlockTokenMultiple = 8;

// Rows of a norm begin at multiples of this many bytes (kernels/rms_norm.hpp).
constexpr std::size_t kVector = 16;

// Slots of scratch memory.
constexpr int kOutput = 0;
constexpr int kWorkspace = 1;

// Of random quantised weights.
constexpr float kDeviation = 0.02F;

double elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

int padded(std::int64_t n, int multiple) {
  return static_cast<int>((n + multiple - 1) / multiple * multiple);
}

BoundCase bind_int4(Operands& operands, const CalibrationCase& c) {
  kernels::Int4Gemm gemm = int4_gemm_of(c);
  kernels::Backend& backend = operands.backend();
  const double weight_bytes = elements(gemm.n, gemm.k) / 2;
  const double scale_bytes = elements(gemm.n, gemm.k / gemm.group) * bytes_of(gemm.element);
  const ColdCopies weights = operands.cold(Element::int8, weight_bytes);
  const ColdCopies scales = operands.cold(gemm.element, scale_bytes, weights.count);
  gemm.input = operands.warm(gemm.element, elements(gemm.m, gemm.k) * bytes_of(gemm.element));
  gemm.output = operands.scratch(kOutput, elements(gemm.m, gemm.n) * bytes_of(gemm.element));
  return {.work = {.copies = weights.count,
                   .launch =
                       [&backend, gemm, weights, scales, source = c.source](int copy) {
                         kernels::Int4Gemm call = gemm;
                         call.weight = static_cast<const std::uint8_t*>(weights.at(copy));
                         call.scale = scales.at(copy);
                         backend.launch(call, source);
                       }},
          .owned = {},
          .cold_bytes = weight_bytes + scale_bytes};
}

/// Weights that keep their quantised format. Equal copies: their values do not matter to a cache.
BoundCase bind_quantized(Operands& operands, const CalibrationCase& c) {
  kernels::Backend& backend = operands.backend();
  const kernels::QuantizedFormat format = *quantized_format(c.shape);
  kernels::QuantizedGemm gemm{
      .shape = {.format = format,
                .n = static_cast<int>(c.shape.outputs),
                .k = padded(static_cast<int>(c.shape.inputs), kernels::block_of(format))},
      .element = c.element,
      .m = static_cast<std::int64_t>(c.x)};
  const auto weight_bytes = static_cast<double>(gemm.shape.bytes());
  const ColdCopies weights = operands.cold(Element::int8, weight_bytes);
  for (int copy = 0; copy < weights.count; ++copy) {
    backend.pack_weight(gemm.shape, nullptr, nullptr, 0, kDeviation, weights.at(copy));
  }
  gemm.input = operands.warm(c.element, elements(gemm.m, gemm.shape.k) * bytes_of(c.element));
  gemm.workspace = operands.scratch(kWorkspace, static_cast<double>(workspace_bytes(gemm)));
  const ColdCopies outputs =
      operands.written(kOutput, elements(gemm.m, gemm.shape.n) * bytes_of(c.element));
  return {.work = {.copies = std::max(weights.count, outputs.count),
                   .launch =
                       [&backend, gemm, weights, outputs](int copy) {
                         kernels::QuantizedGemm call = gemm;
                         call.weight = weights.at(copy % weights.count);
                         call.output = outputs.at(copy % outputs.count);
                         backend.launch_quantized(call);
                       }},
          .owned = {},
          .cold_bytes = weight_bytes};
}

/// Sets scales of about 1 for narrow operands.
void set_scales(Operands& operands, kernels::Gemm& gemm) {
  if (gemm.scale == kernels::GemmScale::none) return;
  const bool block = gemm.scale == kernels::GemmScale::block;
  const int blocks = block ? gemm.k / kernels::kScaleBlock : 1;
  const std::int64_t inputs = block ? gemm.m * blocks : 1;
  const std::int64_t weights =
      block ? std::int64_t{padded(gemm.n, kernels::kScaleBlock)} / kernels::kScaleBlock * blocks
            : 1;
  const auto count = static_cast<double>(std::max(inputs, weights));
  const auto* scales =
      static_cast<const float*>(operands.warm(Element::fp32, count * sizeof(float)));
  gemm.input_scale = scales;
  gemm.weight_scale = scales;
}

/// The input, and the work that writes it before each call if the protocol requires that: the norm
/// of an equally large buffer.
void* input_of(Operands& operands, const kernels::Gemm& gemm, std::function<void()>& before) {
  const double bytes = elements(gemm.m, gemm.k) * bytes_of(gemm.element);
  const auto row = static_cast<std::size_t>(gemm.k) * kernels::size_of(gemm.element);
  const bool normed =
      gemm.scale == kernels::GemmScale::none && gemm.k <= kernels::kMaxHidden && row % kVector == 0;
  if (!operands.protocol().inputs_written || !normed) return operands.warm(gemm.element, bytes);
  auto* input =
      static_cast<std::byte*>(operands.warm(gemm.element, 2 * bytes + static_cast<double>(row)));
  const std::size_t stride = static_cast<std::size_t>(gemm.m) * row;
  const kernels::RmsNorm norm{.element = gemm.element,
                              .rows = gemm.m,
                              .hidden = gemm.k,
                              .input = input + stride,
                              .weight = input + 2 * stride,
                              .output = input};
  before = [&backend = operands.backend(), norm] { backend.launch(norm); };
  return input;
}

}  // namespace

kernels::Gemm gemm_of(const CalibrationCase& c) {
  const std::string& format = c.shape.format;
  const Element element = plain_element(format).value_or(c.element);
  kernels::Gemm gemm{.element = element,
                     .result = element,
                     .m = static_cast<std::int64_t>(c.x),
                     .n = static_cast<int>(c.shape.outputs),
                     .k = static_cast<int>(c.shape.inputs)};
  const bool narrow = format == "fp8" || format == "fp8_block" || format == "int8";
  if (!narrow) return gemm;
  gemm.element = format == "int8" ? Element::int8 : Element::fp8_e4m3;
  gemm.scale = format == "fp8_block" ? kernels::GemmScale::block : kernels::GemmScale::tensor;
  gemm.n = padded(gemm.n, kNarrowMultiple);
  gemm.k = padded(gemm.k, format == "fp8_block" ? kernels::kScaleBlock : kNarrowMultiple);
  if (format == "fp8_block") {
    gemm.m = (gemm.m + kBlockTokenMultiple - 1) / kBlockTokenMultiple * kBlockTokenMultiple;
  }
  return gemm;
}

kernels::Int4Gemm int4_gemm_of(const CalibrationCase& c) {
  kernels::Int4Gemm gemm{.element = c.element,
                         .m = static_cast<std::int64_t>(c.x),
                         .n = static_cast<int>(c.shape.outputs)};
  gemm.k = padded(c.shape.inputs, gemm.group);
  return gemm;
}

BoundCase bind_gemm(Operands& operands, const CalibrationCase& c) {
  if (kernel_family(c, operands.backend()) == kernels::KernelFamily::quantized_gemm) {
    return bind_quantized(operands, c);
  }
  if (is_int4(c.shape)) return bind_int4(operands, c);
  kernels::Gemm gemm = gemm_of(c);
  kernels::Backend& backend = operands.backend();
  const double weight_bytes = elements(gemm.n, gemm.k) * bytes_of(gemm.element);
  const ColdCopies weights = operands.cold(gemm.element, weight_bytes);
  std::function<void()> before;
  gemm.input = input_of(operands, gemm, before);
  const ColdCopies outputs =
      operands.written(kOutput, elements(gemm.m, gemm.n) * bytes_of(gemm.result));
  set_scales(operands, gemm);
  gemm.weight = weights.at(0);
  gemm.output = outputs.at(0);
  backend.prepare(gemm, c.source);
  return {
      .work = {.copies = std::max(weights.count, outputs.count),
               .launch =
                   [&backend, gemm, weights, outputs, source = c.source](int copy) {
                     kernels::Gemm call = gemm;
                     call.weight = weights.at(copy % weights.count);
                     call.output = outputs.at(copy % outputs.count);
                     backend.launch(call, source);
                   },
               .before = std::move(before),
               .before_name = fmt::format("norm {} {}x{}", name_of(gemm.element), gemm.m, gemm.k)},
      .owned = {},
      .cold_bytes = weight_bytes};
}

}  // namespace roofcast
