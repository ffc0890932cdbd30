// Models from what users have: a Hugging Face folder or config.json, a GGUF file, or the name of a
// catalogue entry.
#pragma once

#include <string>
#include <vector>

#include "model/architecture/requantise.hpp"  // callers that load a model often requantise it
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// `model` is a folder with config.json (or Mistral's params.json, or one .gguf), a path to such a
/// file, or a catalogue name ("llama-3.1-70b", "meta-llama/Llama-3.1-70B"). Beside a config.json,
/// hf_quant_config.json, model.safetensors.index.json and *.safetensors headers are read when they
/// are there. Throws Error naming file and key; an architecture that is not known is named
/// together with what is missing.
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

/// Entries in order of name.
std::vector<CatalogueEntry> catalogue();

}  // namespace roofcast
