// Translates Mistral's own params.json to Hugging Face's keys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roofcast {

/// Whether a document is a params.json: it has `dim` and `n_layers` but no model_type.
bool is_mistral_params(const nlohmann::json& document);

/// The same as a config.json of a Mistral or Mixtral model. Throws Error for features that those
/// families lack (latent attention).
nlohmann::json from_mistral_params(const nlohmann::json& document, const std::string& where);

}  // namespace roofcast
