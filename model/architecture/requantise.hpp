// Changes a model's weight format: for the --quantization flag and the remedies of a plan that does
// not fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// The usual storage of a named format: "bf16", "fp16", "fp32", "fp8", "fp8_block", "int8", "awq",
/// "gptq", "int4", "mxfp4", "nvfp4", GGUF's "q8_0", "q6_k", "q4_k", "q4_0" and their spellings in
/// configs; including scales and zero points. Throws Error with the nearest names if `name` is
/// unknown.
WeightFormat weight_format_named(const std::string& name);

/// Names that weight_format_named accepts, in order of decreasing width.
const std::vector<std::string>& weight_format_names();

/// Replaces the weight format of every quantisable matrix. Embeddings, LM head, norms, routers and
/// the vision tower keep theirs, as with the engines' quantisers. mxfp4 changes only the experts of
/// a mixture-of-experts model (gpt-oss), unless it has latent attention: then dense and shared
/// blocks, too. Latent attention has 16 bits beside 4-bit floating-point weights, as in the
/// checkpoints that are served: with mxfp4 all of it and whatever else mixes tokens in such a model
/// (amd/DeepSeek-R1-0528-MXFP4, exclude_layers), with nvfp4 all but its output projection
/// (nvidia/DeepSeek-R1-NVFP4-v2: "this checkpoint additionally quantizes the wo module in attention
/// layers"). A format that is not quantised (fp32, bf16, fp16) is also that of activations,
/// embedding, LM head and whatever else had the activations' format, as with the engines' --dtype;
/// a cache without a format of its own follows. Throws Error for an unknown name.
void requantise(Transformer& model, const std::string& format);

/// The model in that format if its weights take at least a tenth fewer bytes then; nullopt if not,
/// as with a checkpoint that has such weights already. Throws Error for an unknown name.
std::optional<Transformer> requantised_to_save(const Transformer& model, const std::string& format);

}  // namespace roofcast
