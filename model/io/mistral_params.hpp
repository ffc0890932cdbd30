// Mistral's own params.json, said in Hugging Face's keys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roofcast {

/// Whether a document is a params.json: it has `dim` and `n_layers` and no model_type.
bool is_mistral_params(const nlohmann::json& document);

/// The same facts as a config.json of a Mistral or Mixtral model. Throws Error for what those
/// families do not have (latent attention).
nlohmann::json from_mistral_params(const nlohmann::json& document, const std::string& where);

}  // namespace roofcast
