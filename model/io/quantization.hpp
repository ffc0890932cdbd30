// Quantised checkpoints: reads from quantization_config and hf_quant_config.json how each matrix is
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

/// Some modules and their storage format.
struct QuantizedGroup {
  ModulePatterns targets;
  bool all_linear = false;
  WeightFormat format;
};

/// Precedence: a module listed by name, an excluded module, the experts' own format, the first
/// group that targets the module, otherwise 16 bits.
struct QuantizationScheme {
  std::string method;
  std::map<std::string, WeightFormat, std::less<>> by_module;  // names without prefixes
  ModulePatterns excluded;
  std::optional<WeightFormat> experts;  // routed experts, if they have their own format
  std::vector<QuantizedGroup> groups;
  bool lm_head = false;  // quantised like the rest (GPTQ's lm_head: true)
  std::optional<DType> kv_cache;
};

/// Reads a quantization_config (or the content of hf_quant_config.json). Weight-only formats
/// multiply in `activation`. Throws Error naming an unknown method or algorithm.
QuantizationScheme read_quantization(const Fields& config, DType activation);

/// The KV cache dtype that the checkpoint specifies, if any.
std::optional<DType> read_kv_cache_dtype(const Fields& config);

/// Sets the format of every layer and of the LM head. A block with different matrices gets the name
/// of the format that most of its weights have and the average number of bits, with a note.
void apply_quantization(const QuantizationScheme& scheme, const ModuleNames& names,
                        Transformer& model);

}  // namespace roofcast
