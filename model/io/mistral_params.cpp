#include "model/io/model_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kKeys = {{
    {"dim", "hidden_size"},
    {"n_layers", "num_hidden_layers"},
    {"n_heads", "num_attention_heads"},
    {"n_kv_heads", "num_key_value_heads"},
    {"head_dim", "head_dim"},
    {"hidden_dim", "intermediate_size"},
    {"vocab_size", "vocab_size"},
    {"tied_embeddings", "tie_word_embeddings"},
    {"sliding_window", "sliding_window"},
    {"max_position_embeddings", "max_position_embeddings"},
    {"max_seq_len", "max_seq_len"},
}};

void copy(const json& from, std::string_view key, std::string_view as, json& to) {
  const auto found = from.find(key);
  if (found != from.end()) to[std::string(as)] = *found;
}

}  // namespace

bool is_mistral_params(const json& document) {
  return document.is_object() && document.contains("dim") && document.contains("n_layers") &&
         !document.contains("model_type");
}

json from_mistral_params(const json& document, const std::string& where) {
  for (const std::string_view key : {"q_lora_rank", "kv_lora_rank"}) {
    if (document.contains(key) && !document.at(std::string(key)).is_null()) {
      throw Error(
          fmt::format("{}: '{}' (latent attention) is not supported in params.json; the "
                      "model's config.json is",
                      where, key));
    }
  }
  json config = {{"model_type", "mistral"}, {"architectures", {"MistralForCausalLM"}}};
  for (const auto& [key, as] : kKeys) copy(document, key, as, config);
  if (document.contains("moe") && document.at("moe").is_object()) {
    const json& moe = document.at("moe");
    config["model_type"] = "mixtral";
    config["architectures"] = {"MixtralForCausalLM"};
    copy(moe, "num_experts", "num_local_experts", config);
    copy(moe, "num_experts_per_tok", "num_experts_per_tok", config);
  }
  if (document.contains("vision_encoder")) config["vision_config"] = document["vision_encoder"];
  config["torch_dtype"] = "bfloat16";  // the dtype that Mistral publishes in; not in params.json
  return config;
}

}  // namespace roofcast
