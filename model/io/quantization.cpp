#include "model/io/quantization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {

namespace {

constexpr double kScaleBits = 16;       // of integer groups: fp16 or bf16
constexpr double kBlockScaleBits = 32;  // DeepSeek-V3's 128 x 128 blocks: fp32

WeightFormat fp8() { return {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8}; }

WeightFormat fp8_block(std::int64_t rows, std::int64_t columns) {
  return {.name = "fp8_block",
          .bits_per_weight = 8 + kBlockScaleBits / static_cast<double>(rows * columns),
          .compute = DType::fp8};
}

/// Integers in groups of `group` weights (0: one scale per channel, neglected), each with a scale
/// and, if `zero_points`, a packed zero point.
WeightFormat grouped(std::string name, std::int64_t bits, std::int64_t group, bool zero_points,
                     DType compute) {
  const double extra = kScaleBits + (zero_points ? static_cast<double>(bits) : 0.0);
  return {.name = std::move(name),
          .bits_per_weight =
              static_cast<double>(bits) + (group > 0 ? extra / static_cast<double>(group) : 0.0),
          .compute = compute};
}

/// 4-bit floats with an 8-bit scale per group (16: NVFP4, 32: MXFP4).
WeightFormat fp4(std::int64_t group, DType compute) {
  constexpr double kGroupScaleBits = 8;
  constexpr std::int64_t kMxGroup = 32;
  return {.name = group == kMxGroup ? "mxfp4" : "nvfp4",
          .bits_per_weight = 4 + kGroupScaleBits / static_cast<double>(group),
          .compute = compute};
}

WeightFormat mxfp8() { return {.name = "mxfp8", .bits_per_weight = 8.25, .compute = DType::fp8}; }

/// -1 means one scale per output channel.
std::int64_t group_size(const Fields& q, Names names, std::int64_t fallback) {
  for (const std::string_view name : names) {
    const auto stated = q.number({name});
    if (stated && *stated == -1.0) return 0;
  }
  return q.size_or(names, fallback, kWidest);
}

/// ModelOpt's algorithm names (modelopt, hf_quant_config.json; tensorrt_llm QuantAlgo).
WeightFormat format_of_algorithm(const Fields& q, const std::string& algorithm, DType activation) {
  const std::string name = upper(algorithm);
  const auto group = [&](std::int64_t fallback) { return group_size(q, {"group_size"}, fallback); };
  if (name == "FP8" || name == "FP8_PER_CHANNEL_PER_TOKEN") return fp8();
  if (name == "FP8_PB_WO" || name == "FP8_BLOCK_SCALES") return fp8_block(128, 128);
  if (name == "NVFP4" || name == "NVFP4_AWQ") return fp4(group(16), DType::fp4);
  if (name == "W4A16_NVFP4") return fp4(group(16), activation);
  if (name == "W4A8_NVFP4_FP8") return fp4(group(16), DType::fp8);
  if (name == "MXFP8") return mxfp8();
  if (name == "MXFP4" || name == "W4A16_MXFP4") return fp4(group(32), activation);
  if (name == "W4A8_MXFP4_FP8") return fp4(group(32), DType::fp8);
  if (name == "W4A16_AWQ" || name == "INT4_AWQ") {
    return grouped("awq", 4, group(128), false, activation);
  }
  if (name == "W4A8_AWQ") return grouped("awq", 4, group(128), false, DType::fp8);
  if (name == "W4A16_GPTQ") return grouped("gptq", 4, group(128), true, activation);
  if (name == "W8A16" || name == "W8A16_GPTQ") return grouped("int8", 8, 0, false, activation);
  if (name == "W8A8_SQ_PER_CHANNEL" || name == "W8A8_SQ_PER_TENSOR_PLUGIN" ||
      name == "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN") {
    return grouped("int8", 8, 0, false, DType::int8);
  }
  q.fail("quant_algo",
         fmt::format("is '{}', which is unknown; known: FP8, FP8_PB_WO, FP8_PER_CHANNEL_PER_TOKEN, "
                     "MXFP8, NVFP4, W4A16_NVFP4, MXFP4, W4A16_AWQ, W4A8_AWQ, W4A16_GPTQ, W8A16, "
                     "W8A8_SQ_*, MIXED_PRECISION",
                     algorithm));
}

/// The number format in which a group is multiplied, given its `input_activations`.
DType compute_of(const Fields& group, std::int64_t weight_bits, bool is_float, DType activation) {
  const auto input = group.object("input_activations");
  if (!input) return activation;
  const std::int64_t bits = input->size({"num_bits"}, 64);
  if (bits >= 16) return activation;
  if (bits == 4 && weight_bits == 4) return is_float ? DType::fp4 : DType::int4;
  return input->text({"type"}, "float") == "int" ? DType::int8 : DType::fp8;
}

/// One entry of compressed-tensors' config_groups.
WeightFormat format_of_group(const Fields& group, const Fields& weights, DType activation) {
  const std::int64_t bits = weights.size({"num_bits"}, 16);
  const std::string type = weights.text({"type"}, "int");
  const bool is_float = type == "float";
  const std::string strategy = weights.text({"strategy"});
  const DType compute = compute_of(group, bits, is_float, activation);
  if (is_float && bits == 8) {
    const auto block = weights.counts("block_structure");
    if (strategy == "block" && block.size() == 2 && block[0] > 0 && block[1] > 0) {
      return fp8_block(std::min(block[0], kWidest), std::min(block[1], kWidest));
    }
    WeightFormat format = strategy == "block"                            ? fp8_block(128, 128)
                          : group_size(weights, {"group_size"}, 0) == 32 ? mxfp8()
                                                                         : fp8();
    format.compute = compute;
    return format;
  }
  if (is_float && bits == 4) return fp4(group_size(weights, {"group_size"}, 16), compute);
  if (type == "int" && (bits == 8 || bits == 4)) {
    const std::int64_t per =
        strategy == "channel" || strategy == "tensor" ? 0 : group_size(weights, {"group_size"}, 0);
    const bool zero_points = !weights.flag({"symmetric"}, true);
    return grouped(bits == 8 ? "int8" : "int4", bits, per, zero_points, compute);
  }
  weights.fail("num_bits", fmt::format("is {} of unknown type '{}'", bits, type));
}

void add_patterns(const Fields& q, std::string_view key, ModulePatterns& patterns) {
  if (!q.is_list(key)) return;
  for (const std::string& pattern : q.texts(key)) {
    patterns.add(pattern, fmt::format("{}: {}", q.where(), key));
  }
}

void read_exclusions(const Fields& q, QuantizationScheme& scheme) {
  for (const std::string_view key :
       {"ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"}) {
    add_patterns(q, key, scheme.excluded);
  }
}

void add_default(QuantizationScheme& scheme, const WeightFormat& format) {
  scheme.groups.push_back({.targets = {}, .all_linear = true, .format = format});
}

void read_groups(const Fields& q, DType activation, QuantizationScheme& scheme) {
  const auto groups = q.object("config_groups");
  if (!groups) q.fail("config_groups", "is missing");
  for (const auto& [name, group] : groups->members()) {
    const auto weights = group.object("weights");
    if (!weights) continue;
    QuantizedGroup entry{.targets = {},
                         .all_linear = !group.has("targets"),
                         .format = format_of_group(group, *weights, activation)};
    for (const std::string& target : group.texts("targets")) {
      if (target == "Linear") {
        entry.all_linear = true;
      } else {
        entry.targets.add(target, group.where() + ": targets");
      }
    }
    scheme.groups.push_back(std::move(entry));
  }
}

void read_module_map(const Fields& q, DType activation, QuantizationScheme& scheme) {
  const auto modules = q.object("quantized_layers");
  if (!modules) return;
  for (const auto& [module, entry] : modules->members()) {
    scheme.by_module.emplace(without_model_prefix(module),
                             format_of_algorithm(entry, entry.text({"quant_algo"}), activation));
  }
}

WeightFormat read_fp8(const Fields& q) {
  if (q.has("store_dtype")) q.fail("store_dtype", "is not supported");
  const auto block = q.counts("weight_block_size");
  if (block.empty()) return fp8();
  if (block.size() != 2 || block[0] < 1 || block[1] < 1 || block[0] > kWidest ||
      block[1] > kWidest) {
    q.fail("weight_block_size", "must be two positive whole numbers");
  }
  return fp8_block(block[0], block[1]);
}

/// NVIDIA ModelOpt: one algorithm for all modules, or (MIXED_PRECISION) one per module.
void read_modelopt(const Fields& q, DType activation, QuantizationScheme& scheme) {
  const std::string algorithm = q.text({"quant_algo"});
  if (upper(algorithm) != "MIXED_PRECISION") {
    read_exclusions(q, scheme);
    if (algorithm.empty()) {
      read_groups(q, activation, scheme);
    } else {
      add_default(scheme, format_of_algorithm(q, algorithm, activation));
    }
    return;
  }
  read_module_map(q, activation, scheme);
  if (scheme.by_module.empty()) read_groups(q, activation, scheme);
}

void read_bitsandbytes(const Fields& q, DType activation, QuantizationScheme& scheme) {
  add_patterns(q, "llm_int8_skip_modules", scheme.excluded);
  if (q.flag({"load_in_8bit", "_load_in_8bit"}, false)) {
    add_default(scheme, grouped("int8", 8, 0, false, DType::int8));
    return;
  }
  // QLoRA (arXiv 2305.14314, section 3): 4 bits and an fp32 scale per 64 weights; double
  // quantisation stores that scale in 8 bits, plus an fp32 one per 256 scales.
  const bool twice = q.flag({"bnb_4bit_use_double_quant"}, false);
  const double scale_bits = twice ? 8.0 / 64 + 32.0 / (64 * 256) : 32.0 / 64;
  add_default(scheme, {.name = "nf4", .bits_per_weight = 4 + scale_bits, .compute = activation});
}

void read_integer_groups(const Fields& q, const std::string& name, DType activation,
                         QuantizationScheme& scheme) {
  read_exclusions(q, scheme);
  // GPTQModel: "-:PATTERN" in `dynamic` excludes modules.
  if (const auto dynamic = q.object("dynamic")) {
    for (const auto& [pattern, overrides] : dynamic->members()) {
      if (pattern.rfind("-:", 0) == 0) {
        scheme.excluded.add("re:" + pattern.substr(2), q.where() + ": dynamic");
      }
    }
  }
  const std::int64_t bits = q.size({"bits", "w_bit"}, 16);
  const std::int64_t group = group_size(q, {"group_size", "q_group_size"}, 128);
  add_default(scheme, grouped(name, bits, group, true, activation));
  scheme.lm_head = q.flag({"lm_head"}, false);
}

void read_method(const Fields& q, DType activation, QuantizationScheme& scheme) {
  const std::string& method = scheme.method;
  if (method == "fp8" || method == "fbgemm_fp8") {
    add_patterns(q, "modules_to_not_convert", scheme.excluded);
    add_patterns(q, "ignored_layers", scheme.excluded);
    read_module_map(q, activation, scheme);
    // With a map of modules, `ignore` lists those that the map leaves in the base format.
    if (scheme.by_module.empty()) add_patterns(q, "ignore", scheme.excluded);
    add_default(scheme, read_fp8(q));
  } else if (method == "compressed-tensors" || method == "compressed_tensors") {
    read_exclusions(q, scheme);
    read_groups(q, activation, scheme);
  } else if (method == "awq" || method == "gptq" || method == "auto-round") {
    read_integer_groups(q, method == "awq" ? "awq" : "gptq", activation, scheme);
  } else if (method == "mxfp4") {
    read_exclusions(q, scheme);
    scheme.experts = fp4(32, activation);
  } else if (method == "modelopt" || method == "modelopt_fp4" || method == "modelopt_mixed" ||
             (method.empty() && q.has("quant_algo"))) {
    read_modelopt(q, activation, scheme);
  } else if (method == "bitsandbytes") {
    read_bitsandbytes(q, activation, scheme);
  } else {
    q.fail("quant_method",
           fmt::format("is '{}', which is unknown; known: fp8, fbgemm_fp8, compressed-tensors, "
                       "awq, gptq, auto-round, mxfp4, modelopt, bitsandbytes",
                       method));
  }
}

}  // namespace

std::optional<DType> read_kv_cache_dtype(const Fields& config) {
  if (config.is_object("kv_cache_scheme")) {
    const Fields scheme = *config.object("kv_cache_scheme");
    const std::int64_t bits = scheme.size({"num_bits"}, 16);
    const bool is_int = scheme.text({"type"}, "float") == "int";
    if (bits == 8) return is_int ? DType::int8 : DType::fp8;
    if (bits == 4) return is_int ? DType::int4 : DType::fp4;
    return std::nullopt;
  }
  const std::string text = config.text({"kv_cache_scheme", "kv_cache_quant_algo"});
  if (text.empty()) return std::nullopt;
  const auto dtype = parse_dtype(text);
  if (!dtype) {
    config.fail(config.has("kv_cache_scheme") ? "kv_cache_scheme" : "kv_cache_quant_algo",
                fmt::format("is '{}', not a number format", text));
  }
  return dtype;
}

QuantizationScheme read_quantization(const Fields& config, DType activation) {
  // hf_quant_config.json wraps its content.
  if (const auto inner = config.object("quantization")) {
    return read_quantization(*inner, activation);
  }
  QuantizationScheme scheme;
  scheme.method = config.text({"quant_method"});
  read_method(config, activation, scheme);
  scheme.kv_cache = read_kv_cache_dtype(config);
  return scheme;
}

}  // namespace roofcast
