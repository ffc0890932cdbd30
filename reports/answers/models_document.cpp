#include "reports/answers/answer_documents.hpp"

#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "roofcast/models.hpp"

namespace roofcast {
namespace {

Bytes bytes_of(std::int64_t count) { return Bytes{static_cast<double>(count)}; }

Printed giga(Flops flops) { return in_giga(flops.value, 2, ""); }

Table size_table(const ModelAnswer& model) {
  Table table{.title = "", .columns = {{"", false}, {""}}, .rows = {}};
  const auto row = [&](const std::string& name, const Cell& value) {
    table.rows.push_back({name, value});
  };
  row("parameters", printed::count(model.parameters_total));
  row("active per token", printed::count(model.parameters_active));
  row("active, without the input embedding",
      printed::count(model.parameters_active_without_input_embedding));
  if (model.vision_parameters > 0) {
    row("vision tower (not included)", printed::count(model.vision_parameters));
  }
  row("weights", printed::bytes(bytes_of(model.weight_bytes)));
  row("KV cache per token (" + model.kv_cache_dtype + ")",
      printed::bytes(bytes_of(model.kv_bytes_per_token)));
  if (model.kv_bytes_per_token_full_attention < model.kv_bytes_per_token) {
    row("  of layers without a window",
        printed::bytes(bytes_of(model.kv_bytes_per_token_full_attention)));
  }
  if (model.state_bytes_per_sequence > 0) {
    row("recurrent state per sequence", printed::bytes(bytes_of(model.state_bytes_per_sequence)));
  }
  row("FLOPs per token, matrices", giga(model.matmul_flops_per_token));
  if (model.attention_flops_per_token) {
    row("FLOPs per token, attention at " + with_separators(kAttentionPosition),
        giga(*model.attention_flops_per_token));
  }
  row("longest context",
      model.max_context_tokens > 0 ? printed::count(model.max_context_tokens) : "not stated");
  return table;
}

Table weight_table(const ModelAnswer& model) {
  Table table{.title = "Weights",
              .columns = {{"Part", false}, {"Format", false}, {"Bytes"}, {"GiB"}},
              .rows = {}};
  for (const ModelWeights& weights : model.weights) {
    table.rows.push_back({weights.part, weights.format, printed::count(weights.bytes),
                          printed::fixed(bytes_of(weights.bytes).value / kGiB, 2)});
  }
  return table;
}

Table layer_table(const ModelAnswer& model) {
  Table table{.title = "Layers",
              .columns = {{"Count"}, {"Token mixer", false}, {"Feed-forward", false}},
              .rows = {}};
  for (const LayerKind& kind : model.layers) {
    table.rows.push_back({printed::count(kind.count), kind.mixer, kind.ffn});
  }
  return table;
}

}  // namespace

Document models_document(const ModelListAnswer& answer) {
  Table table{
      .title = "",
      .columns =
          {{"Model", false}, {"Parameters"}, {"Active"}, {"Weights"}, {"KV B/token"}, {"Context"}},
      .rows = {}};
  for (const ModelListEntry& entry : answer.models) {
    table.rows.push_back(
        {entry.name, printed::parameters(entry.parameters_total),
         printed::parameters(entry.parameters_active), printed::gib(bytes_of(entry.weight_bytes)),
         printed::count(entry.kv_bytes_per_token), printed::count(entry.max_context_tokens)});
  }
  return {.machine = to_json(answer),
          .sections = {{.heading = "", .lines = {}, .table = std::move(table)}}};
}

Document model_document(const ModelAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  document.sections.push_back({.heading = answer.inputs.model + " (" + answer.architecture + ")",
                               .lines = {},
                               .table = size_table(answer)});
  document.sections.push_back({.heading = "", .lines = {}, .table = weight_table(answer)});
  document.sections.push_back({.heading = "", .lines = {}, .table = layer_table(answer)});
  std::vector<std::string> notes = answer.notes;
  if (!answer.source.empty()) notes.push_back("source: " + answer.source);
  if (!notes.empty()) {
    document.sections.push_back({.heading = "Notes", .lines = std::move(notes), .table = {}});
  }
  return document;
}

}  // namespace roofcast
