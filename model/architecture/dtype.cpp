#include "model/architecture/dtype.hpp"

#include <array>
#include <cstddef>

#include "base/text.hpp"

namespace roofcast {

namespace {

struct Spelling {
  std::string_view text;  // lower case, "torch." removed
  DType dtype;
};

// Spellings of PyTorch, safetensors (its Dtype enumeration: F64 .. BOOL), ONNX and vLLM's command
// line. A name is a storage format here: fp8_ds_mla stores its latent in fp8.
constexpr std::array kSpellings{
    Spelling{"fp32", DType::fp32},
    Spelling{"float32", DType::fp32},
    Spelling{"float", DType::fp32},
    Spelling{"f32", DType::fp32},
    Spelling{"tf32", DType::tf32},
    Spelling{"fp16", DType::fp16},
    Spelling{"float16", DType::fp16},
    Spelling{"half", DType::fp16},
    Spelling{"f16", DType::fp16},
    Spelling{"bf16", DType::bf16},
    Spelling{"bfloat16", DType::bf16},
    Spelling{"fp8", DType::fp8},
    Spelling{"f8", DType::fp8},
    Spelling{"float8", DType::fp8},
    Spelling{"fp8_e4m3", DType::fp8},
    Spelling{"fp8_e5m2", DType::fp8},
    Spelling{"fp8_inc", DType::fp8},
    Spelling{"fp8_ds_mla", DType::fp8},
    Spelling{"fp8_per_token_head", DType::fp8},
    Spelling{"mxfp8", DType::fp8},
    Spelling{"float8_e4m3fn", DType::fp8},
    Spelling{"float8_e4m3fnuz", DType::fp8},
    Spelling{"float8_e4m3", DType::fp8},
    Spelling{"float8_e5m2", DType::fp8},
    Spelling{"f8_e4m3", DType::fp8},
    Spelling{"f8_e5m2", DType::fp8},
    Spelling{"f8_e8m0", DType::fp8},
    Spelling{"float8_e8m0fnu", DType::fp8},
    Spelling{"e4m3", DType::fp8},
    Spelling{"e5m2", DType::fp8},
    Spelling{"float8_e5m2fnuz", DType::fp8},
    Spelling{"int8", DType::int8},
    Spelling{"i8", DType::int8},
    Spelling{"int8_per_token_head", DType::int8},
    Spelling{"uint8", DType::int8},
    Spelling{"u8", DType::int8},
    Spelling{"fp4", DType::fp4},
    Spelling{"f4", DType::fp4},
    Spelling{"nvfp4", DType::fp4},
    Spelling{"nvfp4_4over6", DType::fp4},
    Spelling{"nvfp4_ds_mla", DType::fp4},
    Spelling{"fp4_e2m1", DType::fp4},
    Spelling{"fp4_mx_block16", DType::fp4},
    Spelling{"mxfp4", DType::fp4},
    Spelling{"float4_e2m1fn_x2", DType::fp4},
    Spelling{"int4", DType::int4},
    Spelling{"int4_per_token_head", DType::int4},
    Spelling{"i4", DType::int4},
    Spelling{"uint4", DType::int4},
    Spelling{"u4", DType::int4},
};

}  // namespace

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return "fp32";
    case DType::tf32:
      return "tf32";
    case DType::fp16:
      return "fp16";
    case DType::bf16:
      return "bf16";
    case DType::fp8:
      return "fp8";
    case DType::int8:
      return "int8";
    case DType::fp4:
      return "fp4";
    case DType::int4:
      return "int4";
  }
  return "unknown";
}

std::optional<DType> parse_dtype(std::string_view text) {
  constexpr std::string_view kTorch = "torch.";
  if (text.substr(0, kTorch.size()) == kTorch) text.remove_prefix(kTorch.size());
  const std::string wanted = lower(text);
  for (const Spelling& spelling : kSpellings) {
    if (spelling.text == wanted) return spelling.dtype;
  }
  return std::nullopt;
}

int bits_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      return 32;
    case DType::fp16:
    case DType::bf16:
      return 16;
    case DType::fp8:
    case DType::int8:
      return 8;
    case DType::fp4:
    case DType::int4:
      return 4;
  }
  return 0;
}

WeightFormat plain_format(DType dtype) {
  return {.name = std::string(name_of(dtype)),
          .bits_per_weight = static_cast<double>(bits_of(dtype)),
          .compute = dtype};
}

}  // namespace roofcast
