// The parts of the model reader, a source each. Internal to model/io.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "model/architecture/transformer.hpp"
#include "model/io/config_fields.hpp"

namespace roofcast {

/// The longest sequence that a config allows, as serving engines derive it: the smallest of the
/// context fields present, extended by rope scaling; 0 if the config has none. Follows vLLM
/// (vllm/config/model.py, _get_and_verify_max_len): a yarn factor applies to
/// original_max_position_embeddings, other factors to the field itself. llama3, longrope and su
/// scaling, and all of Gemma-3, state the length after scaling, so it is not extended.
std::int64_t longest_context(const Fields& config, std::string_view model_type);

/// A multimodal model's vision encoder and projector.
struct VisionTower {
  std::int64_t parameters = 0;
  VisionEncoder encoder{};
};

/// The vision encoder of a model: empty if it has none, nullopt if its shape is unknown. `hidden`
/// is the width of the language model.
std::optional<VisionTower> vision_tower(const Fields& top, std::int64_t hidden);

/// Whether a document is Mistral's own params.json: it has `dim` and `n_layers` but no model_type.
bool is_mistral_params(const nlohmann::json& document);

/// The same as a config.json of a Mistral or Mixtral model. Throws Error for features that those
/// families lack (latent attention).
nlohmann::json from_mistral_params(const nlohmann::json& document, const std::string& where);

/// The model of a config.json that has been parsed and has no further file beside it.
Transformer model_of_config(const nlohmann::json& config, const std::string& where);

/// Throws Error naming `where` if the model has no layers, or more than 10^16 parameters by a
/// generous upper estimate: such sizes are mistakes, and 64-bit sums must not overflow.
void check_bounds(const Transformer& model, const std::string& where);

/// The built-in model with this name or alias: its config.json, embedded at build time from
/// model/catalogue/*.json and read by the same reader as a user's file. Ignores case, separators
/// and the organisation before the slash. Throws Error with the nearest names if there is none.
Transformer load_catalogue_model(const std::string& name);

}  // namespace roofcast
