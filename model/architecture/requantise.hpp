// "What if its weights were stored as FORMAT": the --quantization flag and the remedies of a plan
// that does not fit.
#pragma once

#include <string>
#include <vector>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// The common storage of a named format: "bf16", "fp16", "fp32", "fp8", "fp8_block", "int8", "awq",
/// "gptq", "int4", "mxfp4", "nvfp4" and their spellings in configs; scales and zero points
/// included. Throws Error with the nearest names.
WeightFormat weight_format_named(const std::string& name);

/// Names that weight_format_named accepts, in order of falling width.
const std::vector<std::string>& weight_format_names();

/// Replaces the weight format of every quantisable matrix. Embeddings, LM head, norms, routers and
/// the vision tower stay as they are, as the engines' quantisers leave them. mxfp4 of a
/// mixture-of-experts model touches the experts only (gpt-oss). Throws Error for an unknown name.
void requantise(Transformer& model, const std::string& format);

}  // namespace roofcast
