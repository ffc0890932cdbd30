#include "cli/models_document.hpp"

#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/io/model_reader.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/layer_description.hpp"

namespace roofcast {
namespace {

DType cache_dtype(const Transformer& model) {
  return model.kv_cache_dtype.value_or(model.activation);
}

Table weight_table(const Transformer& model) {
  Table table{.title = "Weights",
              .columns = {{"Part", false}, {"Format", false}, {"Bytes"}, {"GiB"}},
              .rows = {}};
  for (const PartBytes& part : weight_bytes_by_part(model, Parallelism{})) {
    table.rows.push_back({std::string(name_of(part.part)), part.format,
                          with_separators(static_cast<std::int64_t>(part.bytes.value)),
                          fixed(part.bytes.value / kGiB, 2)});
  }
  return table;
}

Table layer_table(const Transformer& model) {
  Table table{.title = "Layers",
              .columns = {{"Count"}, {"Token mixer", false}, {"Feed-forward", false}},
              .rows = {}};
  for (const LayerKind& kind : layer_kinds(model)) {
    table.rows.push_back({with_separators(kind.count), kind.mixer, kind.ffn});
  }
  return table;
}

Table size_table(const Transformer& model, const ParameterCount& count) {
  const DType dtype = cache_dtype(model);
  Table table{.title = "", .columns = {{"", false}, {""}}, .rows = {}};
  auto row = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  row("parameters", with_separators(count.total));
  row("active per token", with_separators(count.active));
  row("active without input embedding", with_separators(count.active_without_input_embedding));
  if (model.vision_parameters > 0) {
    row("vision tower, besides", with_separators(model.vision_parameters));
  }
  row("weights", as_bytes(weight_bytes(model, Parallelism{})));
  row("KV cache per token (" + std::string(name_of(dtype)) + ")",
      as_bytes(kv_bytes_per_token(model, dtype)));
  const Bytes full = full_attention_kv_bytes_per_token(model, dtype);
  if (full < kv_bytes_per_token(model, dtype)) row("  of layers without a window", as_bytes(full));
  const Bytes state = state_bytes_per_sequence(model);
  if (state.value > 0) row("recurrent state per sequence", as_bytes(state));
  row("FLOPs per token, matrices",
      fixed(matmul_flops_per_token(model, true).value / 1e9, 2) + " G");
  row("FLOPs per token, attention at 4,096",
      fixed(attention_flops_per_token(model, 4096).value / 1e9, 2) + " G");
  row("longest context", model.max_context > 0 ? with_separators(model.max_context) : "not stated");
  return table;
}

Json weights_json(const Transformer& model) {
  Json parts = Json::array();
  for (const PartBytes& part : weight_bytes_by_part(model, Parallelism{})) {
    parts.push_back({{"part", name_of(part.part)},
                     {"format", part.format},
                     {"bytes", static_cast<std::int64_t>(part.bytes.value)}});
  }
  return parts;
}

Json layers_json(const Transformer& model) {
  Json layers = Json::array();
  for (const LayerKind& kind : layer_kinds(model)) {
    layers.push_back({{"count", kind.count}, {"mixer", kind.mixer}, {"ffn", kind.ffn}});
  }
  return layers;
}

std::int64_t whole(Bytes bytes) { return static_cast<std::int64_t>(bytes.value); }

Json model_json(const Transformer& model) {
  const ParameterCount count = count_parameters(model);
  const DType dtype = cache_dtype(model);
  Json json = envelope("models", {{"model", model.name}});
  json["architecture"] = model.architecture;
  json["model_type"] = model.model_type;
  json["parameters_total"] = count.total;
  json["parameters_active"] = count.active;
  json["parameters_active_without_input_embedding"] = count.active_without_input_embedding;
  json["vision_parameters"] = model.vision_parameters;
  json["weight_bytes"] = whole(weight_bytes(model, Parallelism{}));
  json["weights"] = weights_json(model);
  json["kv_cache_dtype"] = name_of(dtype);
  json["kv_bytes_per_token"] = whole(kv_bytes_per_token(model, dtype));
  json["kv_bytes_per_token_full_attention"] =
      whole(full_attention_kv_bytes_per_token(model, dtype));
  json["state_bytes_per_sequence"] = whole(state_bytes_per_sequence(model));
  json["matmul_flops_per_token"] = matmul_flops_per_token(model, true).value;
  json["max_context_tokens"] = model.max_context;
  json["hidden_size"] = model.hidden;
  json["vocabulary_size"] = model.vocabulary;
  json["layers"] = layers_json(model);
  json["notes"] = model.notes;
  json["source"] = model.source;
  return json;
}

}  // namespace

Document catalogue_document() {
  Document document{.machine = envelope("models", Json::object()), .sections = {}};
  Table table{
      .title = "",
      .columns =
          {{"Model", false}, {"Parameters"}, {"Active"}, {"Weights"}, {"KV B/token"}, {"Context"}},
      .rows = {}};
  Json models = Json::array();
  for (const CatalogueEntry& entry : catalogue()) {
    const Transformer model = load_model(entry.name);
    const ParameterCount count = count_parameters(model);
    const Bytes kv = kv_bytes_per_token(model, cache_dtype(model));
    const Bytes weights = weight_bytes(model, Parallelism{});
    table.rows.push_back({entry.name, as_parameters(count.total), as_parameters(count.active),
                          as_gib(weights), with_separators(whole(kv)),
                          with_separators(model.max_context)});
    models.push_back({{"name", entry.name},
                      {"aliases", entry.aliases},
                      {"parameters_total", count.total},
                      {"parameters_active", count.active},
                      {"weight_bytes", whole(weights)},
                      {"kv_bytes_per_token", whole(kv)},
                      {"max_context_tokens", model.max_context},
                      {"source", entry.source}});
  }
  document.machine["models"] = std::move(models);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return document;
}

Document model_document(const Transformer& model) {
  Document document{.machine = model_json(model), .sections = {}};
  const std::string heading = model.name + " (" + model.architecture + ")";
  document.sections.push_back(
      {.heading = heading, .lines = {}, .table = size_table(model, count_parameters(model))});
  document.sections.push_back({.heading = "", .lines = {}, .table = weight_table(model)});
  document.sections.push_back({.heading = "", .lines = {}, .table = layer_table(model)});
  std::vector<std::string> notes = model.notes;
  if (!model.source.empty()) notes.push_back("source: " + model.source);
  if (!notes.empty())
    document.sections.push_back({.heading = "Notes", .lines = notes, .table = {}});
  return document;
}

}  // namespace roofcast
