// A grid over common shapes, independent of any model.
#include <span>
#include <string>

#include "calibrate/case_builder.hpp"

namespace roofcast {

namespace {

using kernels::Element;

/// Sides of matrices: the range of hidden and FFN widths per rank in the catalogue's models.
constexpr std::int64_t kSides[] = {1024, 2048, 4096, 7168, 12288, 16384};
/// Used for formats that are timed separately instead of for every shape.
constexpr std::int64_t kFewSides[] = {2048, 4096, 12288};
constexpr std::int64_t kCpuSides[] = {768, 1024, 2048, 4096};

struct Heads {
  std::int64_t query = 0;
  std::int64_t kv = 0;
  std::int64_t dim = 0;
};
/// Llama 3 8B; 70B on one rank and on one of 8; Llama 2 (MHA); small heads; Gemma's wide heads.
constexpr Heads kHeads[] = {{32, 8, 128},  {8, 1, 128}, {64, 8, 128},
                            {32, 32, 128}, {32, 8, 64}, {16, 8, 256}};
/// GPT-2 and Llama 3.2 1B.
constexpr Heads kCpuHeads[] = {{12, 12, 64}, {32, 8, 64}};

struct Experts {
  std::int64_t experts = 0;
  std::int64_t picked = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;
};
/// Mixtral 8x7B; Qwen3 30B-A3B; Qwen3 235B-A22B; DeepSeek-V3 on one of 8 ranks.
constexpr Experts kExperts[] = {
    {8, 2, 4096, 14336}, {128, 8, 2048, 768}, {128, 8, 4096, 1536}, {32, 8, 7168, 2048}};

constexpr std::int64_t kHidden[] = {2048, 8192};
constexpr std::int64_t kVocabulary = 128256;

void add_gemms(CaseBuilder& builder, const std::string& format, Element activation,
               std::span<const std::int64_t> sides) {
  for (const std::int64_t outputs : sides) {
    for (const std::int64_t inputs : sides) {
      builder.add_gemm(
          {.family = OperatorFamily::gemm, .format = format, .outputs = outputs, .inputs = inputs},
          activation, builder.limits().max_tokens);
    }
  }
}

void add_attention(CaseBuilder& builder, const Heads& heads, DType cache, Element activation) {
  OperatorShape shape{.family = OperatorFamily::decode_attention,
                      .cache = cache,
                      .query_heads = heads.query,
                      .kv_heads = heads.kv,
                      .head_dim = heads.dim,
                      .value_dim = heads.dim};
  builder.add_decode(shape, activation);
  shape.family = OperatorFamily::prefill_attention;
  builder.add_prefill(shape, activation);
}

/// DeepSeek's, on one of 8 ranks and on one rank.
void add_latent(CaseBuilder& builder, Element activation) {
  for (const std::int64_t heads : {16, 128}) {
    builder.add_decode({.family = OperatorFamily::decode_attention,
                        .query_heads = heads,
                        .kv_heads = 1,
                        .head_dim = 576,
                        .value_dim = 512,
                        .latent = true},
                       activation);
  }
}

void add_token_operators(CaseBuilder& builder, Element element) {
  const double bytes = static_cast<double>(kernels::size_of(element));
  const std::int64_t max = builder.limits().max_tokens;
  for (const std::int64_t hidden : kHidden) {
    const double row = static_cast<double>(hidden) * bytes;
    TokenSizes sizes{.element = element, .hidden = hidden, .vocabulary = kVocabulary};
    builder.add_token_operator(CaseKind::norm, "norms", sizes, 4 * row, max);
    builder.add_token_operator(CaseKind::activation, "activation", sizes, 3 * row, max);
    builder.add_token_operator(CaseKind::embedding, "embedding", sizes, 2 * row, max);
  }
  const TokenSizes heads{
      .element = element, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .cache = element};
  builder.add_token_operator(CaseKind::rope, "rope", heads, 2 * 40 * 128 * bytes, max);
  builder.add_token_operator(CaseKind::kv_write, "kv_write", heads, 4 * 8 * 128 * bytes, max);
  builder.add_token_operator(
      CaseKind::sampling, "sampling", {.element = element, .vocabulary = kVocabulary},
      static_cast<double>(kVocabulary) * bytes, builder.limits().max_sequences);
  builder.add_token_operator(CaseKind::routing, "top_k",
                             {.element = element, .experts = 128, .experts_per_token = 8},
                             2 * 128 * bytes, max);
}

void add_gpu(CaseBuilder& builder) {
  add_gemms(builder, "bf16", Element::bf16, kSides);
  add_gemms(builder, "fp8", Element::bf16, kSides);
  for (const Heads& heads : kHeads) {
    add_attention(builder, heads, DType::bf16, Element::bf16);
  }
  add_attention(builder, kHeads[0], DType::fp8, Element::bf16);
  add_latent(builder, Element::bf16);
  for (const Experts& e : kExperts) {
    builder.add_experts({.family = OperatorFamily::moe,
                         .format = "bf16",
                         .outputs = e.width,
                         .inputs = e.hidden,
                         .experts = e.experts,
                         .experts_per_token = e.picked,
                         .gated = true},
                        Element::bf16);
  }
  add_token_operators(builder, Element::bf16);
  for (const char* format : {"fp8_block", "int8", "int4"}) {
    add_gemms(builder, format, Element::bf16, kFewSides);
  }
}

void add_cpu(CaseBuilder& builder, Element element) {
  add_gemms(builder, std::string(kernels::name_of(element)), element, kCpuSides);
  const DType cache = element == Element::fp32 ? DType::fp32 : DType::bf16;
  for (const Heads& heads : kCpuHeads) add_attention(builder, heads, cache, element);
  add_token_operators(builder, element);
}

}  // namespace

std::vector<CalibrationCase> generic_cases(const kernels::Backend& backend,
                                           const CaseLimits& limits) {
  CaseBuilder builder(backend, limits);
  const std::vector<Element> elements = usual_elements(backend);
  if (elements.size() == 1) {
    add_gpu(builder);
  } else {
    for (const Element element : elements) add_cpu(builder, element);
    add_gemms(builder, "int8", Element::bf16, kCpuSides);
  }
  return builder.take();
}

}  // namespace roofcast
