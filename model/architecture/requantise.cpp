#include "model/architecture/requantise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "model/architecture/experts.hpp"
#include "model/architecture/weights.hpp"

namespace roofcast {
namespace {

/// Bits per weight include scales and zero points:
///  fp8_block: one fp32 scale per 128 x 128 block (DeepSeek-V3, arXiv 2412.19437, section 3.3);
///  awq, gptq: a 16-bit scale and a 4-bit zero point per group of 128 (their usual configs);
///  int4: compressed-tensors pack-quantized, symmetric, a 16-bit scale per group of 128;
///  mxfp4: an 8-bit exponent per 32 values (OCP Microscaling Formats 1.0, table 1);
///  nvfp4: an 8-bit scale per 16 values (NVIDIA ModelOpt);
///  q8_0, q6_k, q4_k, q4_0: GGUF's blocks (model/io/gguf.cpp).
/// A scale per tensor or output channel (fp8, int8) is under 0.1 % and neglected. The 4-bit integer
/// formats, and mxfp4 as gpt-oss uses it, are weight-only: multiplied in bf16.
std::vector<WeightFormat> make_formats() {
  return {
      {.name = "fp32", .bits_per_weight = 32, .compute = DType::fp32},
      {.name = "bf16", .bits_per_weight = 16, .compute = DType::bf16},
      {.name = "fp16", .bits_per_weight = 16, .compute = DType::fp16},
      {.name = "fp8_block", .bits_per_weight = 8.0 + 32.0 / (128.0 * 128.0), .compute = DType::fp8},
      {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8},
      {.name = "int8", .bits_per_weight = 8, .compute = DType::int8},
      {.name = "q8_0", .bits_per_weight = 8.5, .compute = DType::fp16},
      {.name = "q6_k", .bits_per_weight = 6.5625, .compute = DType::fp16},
      {.name = "q4_k", .bits_per_weight = 4.5, .compute = DType::fp16},
      {.name = "q4_0", .bits_per_weight = 4.5, .compute = DType::fp16},
      {.name = "nvfp4", .bits_per_weight = 4.0 + 8.0 / 16.0, .compute = DType::fp4},
      {.name = "mxfp4", .bits_per_weight = 4.0 + 8.0 / 32.0, .compute = DType::bf16},
      {.name = "awq", .bits_per_weight = 4.0 + 20.0 / 128.0, .compute = DType::bf16},
      {.name = "gptq", .bits_per_weight = 4.0 + 20.0 / 128.0, .compute = DType::bf16},
      {.name = "int4", .bits_per_weight = 4.0 + 16.0 / 128.0, .compute = DType::bf16},
  };
}

const std::vector<WeightFormat>& formats() {
  static const std::vector<WeightFormat> list = make_formats();
  return list;
}

/// Other names of the same storage in flags and configs.
constexpr std::pair<const char*, const char*> kFormatSpellings[] = {
    {"float32", "fp32"},       {"bfloat16", "bf16"},      {"float16", "fp16"},
    {"half", "fp16"},          {"f16", "fp16"},           {"w8a8", "int8"},
    {"w4a16", "int4"},         {"awq_marlin", "awq"},     {"fp8_e4m3", "fp8"},
    {"gptq_marlin", "gptq"},   {"fp4", "nvfp4"},          {"modelopt", "fp8"},
    {"modelopt_fp4", "nvfp4"}, {"fp8_per_tensor", "fp8"},
};

std::string normalised(const std::string& name) {
  std::string text = lower(name);
  std::replace(text.begin(), text.end(), '-', '_');
  const auto spelling = std::find_if(std::begin(kFormatSpellings), std::end(kFormatSpellings),
                                     [&](const auto& pair) { return text == pair.first; });
  return spelling == std::end(kFormatSpellings) ? text : spelling->second;
}

}  // namespace

const std::vector<std::string>& weight_format_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const WeightFormat& format : formats()) list.push_back(format.name);
    return list;
  }();
  return names;
}

WeightFormat weight_format_named(const std::string& name) {
  const std::string wanted = normalised(name);
  for (const WeightFormat& format : formats()) {
    if (format.name == wanted) return format;
  }
  throw UsageError(fmt::format("unknown weight format '{}'{}; expected one of: {}", name,
                               did_you_mean(name, weight_format_names()),
                               fmt::join(weight_format_names(), ", ")));
}

namespace {

/// Engines' --dtype is the format of everything that is not quantised: activations and so the
/// cache, embedding and LM head, and the vectors and small matrices beside the layers' own.
void set_activation(Transformer& model, const WeightFormat& format) {
  const WeightFormat before = plain_format(model.activation);
  model.activation = format.compute;
  const auto replace = [&](WeightFormat& one) {
    if (one == before) one = format;
  };
  replace(model.embedding_format);
  replace(model.lm_head_format);
  for (ExtraWeight& weight : model.extra) replace(weight.format);
  for (Layer& layer : model.layers) {
    for (ExtraWeight& weight : layer.extra) replace(weight.format);
  }
}

}  // namespace

void requantise(Transformer& model, const std::string& format_name) {
  const WeightFormat format = weight_format_named(format_name);
  if (format.bits_per_weight >= 16) set_activation(model, format);
  const bool nvfp4 = format.name == "nvfp4";
  const bool mxfp4 = format.name == "mxfp4";
  const auto has_latent = [](const Layer& layer) {
    return std::holds_alternative<LatentAttention>(layer.mixer);
  };
  const bool any_latent = std::any_of(model.layers.begin(), model.layers.end(), has_latent);
  const bool experts_only = has_experts(model) && mxfp4 && !any_latent;
  for (Layer& layer : model.layers) {
    const bool is_latent = has_latent(layer);
    const bool is_moe = std::holds_alternative<MoeFfn>(layer.ffn);
    if (!experts_only || is_moe) layer.ffn_format = format;
    if (experts_only) continue;
    layer.shared_format = format;
    layer.output_format = WeightFormat{.name = ""};
    const bool wide = (is_latent && nvfp4) || (any_latent && mxfp4);
    layer.mixer_format = wide ? plain_format(model.activation) : format;
    if (is_latent && nvfp4) layer.output_format = format;
  }
  model.checkpoint_bytes.reset();  // the files on disk have another format
  model.notes.push_back("weights counted as if quantised to " + format.name);
}

std::optional<Transformer> requantised_to_save(const Transformer& model,
                                               const std::string& format) {
  constexpr double kLess = 0.9;
  Transformer narrow = model;
  requantise(narrow, format);
  if (weight_bytes(narrow, {}) >= weight_bytes(model, {}) * kLess) return std::nullopt;
  return narrow;
}

}  // namespace roofcast
