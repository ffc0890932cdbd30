// Quantised checkpoints: how quantization_config and hf_quant_config.json say that each matrix is
// stored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture/transformer.hpp"
#include "model/io/config_fields.hpp"
#include "model/io/families.hpp"
#include "model/io/module_patterns.hpp"

namespace roofcast {

/// Some modules and the format they are stored in.
struct QuantizedGroup {
  ModulePatterns targets;
  bool all_linear = false;
  WeightFormat format;
};

/// Applied in this order: a module listed by name, one that is excluded, the experts' own format,
/// the first group that targets it, and else 16 bits.
struct QuantizationScheme {
  std::string method;
  std::map<std::string, WeightFormat, std::less<>> by_module;  // names without prefixes
  ModulePatterns excluded;
  std::optional<WeightFormat> experts;  // routed experts, when they have a format of their own
  std::vector<QuantizedGroup> groups;
  bool lm_head = false;  // quantised with the rest (GPTQ's lm_head: true)
  std::optional<DType> kv_cache;
};

/// Reads a quantization_config (or the content of hf_quant_config.json). Formats that are
/// weight-only multiply in `activation`. Throws Error naming a method or algorithm not known.
QuantizationScheme read_quantization(const Fields& config, DType activation);

/// The dtype of KV cache that the checkpoint asks for, if any.
std::optional<DType> read_kv_cache_dtype(const Fields& config);

/// Sets the format of every layer and of the LM head. A block whose matrices differ gets the name
/// of the format that most of its weights have and the average number of bits; a note says so.
void apply_quantization(const QuantizationScheme& scheme, const ModuleNames& names,
                        Transformer& model);

}  // namespace roofcast
