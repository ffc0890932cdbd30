#include "planner/launch/serve_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "model/architecture/requantise.hpp"

namespace roofcast {
namespace {

using Text = std::optional<std::string>;

/// Python's spelling, which vLLM and SGLang take.
Text long_name(const std::optional<DType>& dtype) {
  if (!dtype) return std::nullopt;
  switch (*dtype) {
    case DType::fp32:
      return "float32";
    case DType::fp16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    default:
      return std::nullopt;
  }
}

}  // namespace

void read_weight_format(ServeWords& words, const std::string& text, const std::string& flag) {
  // These set how the checkpoint is read; its config gives the format.
  constexpr std::array<std::string_view, 6> kAsCheckpoint = {
      "none", "auto", "compressed-tensors", "compressed_tensors", "gguf", "auto-round"};
  const std::string method = lower(text);
  if (std::find(kAsCheckpoint.begin(), kAsCheckpoint.end(), method) != kAsCheckpoint.end()) return;
  try {
    words.weight_format = weight_format_named(method).name;
  } catch (const Error&) {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_weight_format(const ServeWords& words) { return words.weight_format; }

void read_dtype(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "auto") return;
  const auto dtype = parse_dtype(text == "float" ? "float32" : text);
  if (!dtype) throw UsageError(fmt::format("{}: '{}' is not a dtype", flag, shown(text)));
  words.dtype = dtype;
}

Text write_dtype(const ServeWords& words) { return long_name(words.dtype); }

void read_cache_dtype(ServeWords& words, const std::string& text, const std::string& flag) {
  if (text == "auto") return;
  // vLLM's fp8_inc and fp8_ds_mla are fp8 in another layout.
  const auto dtype = text.starts_with("fp8") ? DType::fp8 : parse_dtype(text);
  if (dtype) {
    words.overrides.kv_cache_dtype = dtype;
  } else {
    words.not_modelled.push_back(flag + " " + text);
  }
}

Text write_vllm_cache_dtype(const ServeWords& words) {
  const auto& dtype = words.overrides.kv_cache_dtype;
  if (dtype == DType::fp8) return "fp8";
  if (dtype == DType::fp4) return "nvfp4";
  if (dtype == DType::int8) return "int8_per_token_head";
  return dtype == DType::int4 ? "int4_per_token_head" : long_name(dtype);
}

Text write_sglang_cache_dtype(const ServeWords& words) {
  const auto& dtype = words.overrides.kv_cache_dtype;
  if (dtype == DType::fp8) return "fp8_e4m3";
  if (dtype == DType::fp4) return "nvfp4";
  return dtype == DType::bf16 ? Text("bfloat16") : Text();
}

/// TensorRT-LLM only names a format that differs from the model's.
Text write_tensorrt_cache_dtype(const ServeWords& words) {
  const auto& dtype = words.overrides.kv_cache_dtype;
  if (dtype == DType::fp4) return "nvfp4";
  return dtype == DType::fp8 ? Text("fp8") : Text();
}

}  // namespace roofcast
