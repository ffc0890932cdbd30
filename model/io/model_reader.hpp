// Loads models from a Hugging Face folder or config.json, a GGUF file, or by catalogue name.
#pragma once

#include <string>
#include <vector>

#include "model/architecture/requantise.hpp"  // callers that load a model often requantise it
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// `model` is a folder with config.json (or Mistral's params.json, or one .gguf), a path to such a
/// file, or a catalogue name ("llama-3.1-70b", "meta-llama/Llama-3.1-70B"). In a config.json's
/// folder, also reads hf_quant_config.json, model.safetensors.index.json and *.safetensors headers
/// if present. Throws Error naming file and key; for an unknown architecture it names the
/// architecture and what is missing.
Transformer load_model(const std::string& model);

/// The same from the text of a config.json; `quant_config_text` may be empty. `where` names the
/// source in errors.
Transformer parse_model(const std::string& config_text, const std::string& quant_config_text,
                        const std::string& where);

struct CatalogueEntry {
  std::string name;                  // "llama-3.1-70b"
  std::vector<std::string> aliases;  // "meta-llama/Llama-3.1-70B", ...
  std::string source;
};

/// Entries sorted by name.
std::vector<CatalogueEntry> catalogue();

}  // namespace roofcast
