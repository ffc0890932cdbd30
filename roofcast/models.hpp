// The models of the catalogue, and the facts of one model: parameters, weights by part and format,
// KV cache, FLOPs per token, layers.
//
//   for (const ModelListEntry& entry : list_models().models) std::cout << entry.name << "\n";
//
//   const ModelAnswer answer = describe_model({.model = "llama-2-70b"});
//   std::cout << answer.kv_bytes_per_token << " bytes of KV cache per token\n";
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct ModelListEntry {
  std::string name{};
  std::vector<std::string> aliases{};
  std::int64_t parameters_total = 0;
  std::int64_t parameters_active = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t kv_bytes_per_token = 0;
  std::int64_t max_context_tokens = 0;
  std::string source{};
};

struct ModelListAnswer {
  AnswerHead head{};
  NoInputs inputs{};
  std::vector<ModelListEntry> models{};
};

/// All models of the catalogue, sorted by name.
ModelListAnswer list_models();

struct ModelQuestion {
  std::string model{};  // catalogue name, model folder, config.json or .gguf; required
  /// Format of the weights: fp8, int8, awq, ... Unset: the checkpoint's own.
  std::optional<std::string> weight_format{};
};

struct ModelInputs {
  std::string model{};
};

struct ModelWeights {
  std::string part{};
  std::string format{};
  std::int64_t bytes = 0;
};

struct LayerKind {
  std::int64_t count = 0;
  std::string mixer{};
  std::string ffn{};
};

struct ModelAnswer {
  AnswerHead head{};
  ModelInputs inputs{};
  std::string architecture{};
  std::string model_type{};
  std::int64_t parameters_total = 0;
  std::int64_t parameters_active = 0;
  std::int64_t parameters_active_without_input_embedding = 0;
  std::int64_t vision_parameters = 0;
  std::int64_t weight_bytes = 0;
  std::vector<ModelWeights> weights{};
  std::string kv_cache_dtype{};
  std::int64_t kv_bytes_per_token = 0;
  std::int64_t kv_bytes_per_token_full_attention = 0;
  std::int64_t state_bytes_per_sequence = 0;
  Flops matmul_flops_per_token{};
  std::int64_t max_context_tokens = 0;
  std::int64_t hidden_size = 0;
  std::int64_t vocabulary_size = 0;
  std::vector<LayerKind> layers{};
  std::vector<std::string> notes{};
  std::string source{};
  /// FLOPs of attention for a token at position kAttentionPosition. Not in the JSON; unset when
  /// read back.
  std::optional<Flops> attention_flops_per_token{};
};

inline constexpr std::int64_t kAttentionPosition = 4096;

/// Throws Error if the model is unknown or cannot be read, or the format is unknown.
ModelAnswer describe_model(const ModelQuestion& question);

/// What `roofcast models -o json` prints, without and with a name.
Json to_json(const ModelListAnswer& answer);
Json to_json(const ModelAnswer& answer);

/// Read what to_json wrote. Throw Error naming the key and what was expected.
ModelListAnswer model_list_answer_from_json(const Json& json);
ModelAnswer model_answer_from_json(const Json& json);

/// JSON Schemas (draft 2020-12) of to_json().
Json model_list_answer_schema();
Json model_answer_schema();

template <class Visitor>
void members(Visitor& visit, ModelListEntry& entry) {
  visit("name", entry.name, "name in commands");
  visit("aliases", entry.aliases, "other accepted names, such as on Hugging Face");
  visit("parameters_total", entry.parameters_total, "parameters of the text model");
  visit("parameters_active", entry.parameters_active, "parameters used for one token");
  visit("weight_bytes", entry.weight_bytes, "weights as the checkpoint stores them");
  visit("kv_bytes_per_token", entry.kv_bytes_per_token, "KV cache per token, all layers");
  visit("max_context_tokens", entry.max_context_tokens, "longest sequence; 0: not stated");
  visit("source", entry.source, "source of the facts");
}

template <class Visitor>
void members(Visitor& visit, ModelListAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "none");
  visit("models", answer.models, "sorted by name");
}

template <class Visitor>
void members(Visitor& visit, ModelInputs& inputs) {
  visit("model", inputs.model, "catalogue name or path, as given");
}

template <class Visitor>
void members(Visitor& visit, ModelWeights& weights) {
  visit("part", weights.part, "attention, ffn, embedding, ...");
  visit("format", weights.format, "bf16, fp8, awq, ...");
  visit("bytes", weights.bytes, "of the whole model");
}

template <class Visitor>
void members(Visitor& visit, LayerKind& kind) {
  visit("count", kind.count, "number of layers of this kind");
  visit("mixer", kind.mixer, "attention 64/8 heads x 128, sliding window 4096, bf16");
  visit("ffn", kind.ffn, "MoE 8 x 14336, top 2, fp8");
}

template <class Visitor>
void members(Visitor& visit, ModelAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the model");
  visit("architecture", answer.architecture, "config.json's architectures[0]");
  visit("model_type", answer.model_type, "config.json's model_type");
  visit("parameters_total", answer.parameters_total, "parameters of the text model");
  visit("parameters_active", answer.parameters_active,
        "parameters used for one token, both embeddings counted");
  visit("parameters_active_without_input_embedding",
        answer.parameters_active_without_input_embedding, "parameters multiplied for one token");
  visit("vision_parameters", answer.vision_parameters, "parameters of the vision tower; 0: none");
  visit("weight_bytes", answer.weight_bytes, "all weights");
  visit("weights", answer.weights, "weight bytes by part and format");
  visit("kv_cache_dtype", answer.kv_cache_dtype, "element type of the KV cache");
  visit("kv_bytes_per_token", answer.kv_bytes_per_token, "KV cache per token, all layers");
  visit("kv_bytes_per_token_full_attention", answer.kv_bytes_per_token_full_attention,
        "KV cache per token of the layers whose attention has no window");
  visit("state_bytes_per_sequence", answer.state_bytes_per_sequence,
        "recurrent state per sequence; 0: none");
  visit("matmul_flops_per_token", answer.matmul_flops_per_token,
        "FLOPs of the matrices per token, LM head included");
  visit("max_context_tokens", answer.max_context_tokens, "longest sequence; 0: not stated");
  visit("hidden_size", answer.hidden_size, "width of the residual stream");
  visit("vocabulary_size", answer.vocabulary_size, "vocabulary size");
  visit("layers", answer.layers, "kinds of layers in order of first appearance");
  visit("notes", answer.notes, "assumptions and omissions, for readers");
  visit("source", answer.source, "source of the facts; empty: a user's file");
}

}  // namespace roofcast
