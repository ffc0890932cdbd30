#include "roofcast/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "model/architecture/attention_flops.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/io/model_reader.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {
namespace {

constexpr const char* kModelsCommand = "models";

DType cache_dtype(const Transformer& model) {
  return model.kv_cache_dtype.value_or(model.activation);
}

std::int64_t whole(Bytes bytes) { return static_cast<std::int64_t>(bytes.value); }

std::vector<ModelWeights> weights_of(const Transformer& model) {
  std::vector<ModelWeights> weights;
  for (const PartBytes& part : weight_bytes_by_part(model, Parallelism{})) {
    weights.push_back({std::string(name_of(part.part)), part.format, whole(part.bytes)});
  }
  return weights;
}

std::string describe(const AttentionSpan& span) {
  switch (span.kind) {
    case AttentionSpan::Kind::full:
      return "";
    case AttentionSpan::Kind::sliding:
      return fmt::format(", sliding window {}", span.tokens);
    case AttentionSpan::Kind::chunked:
      return fmt::format(", chunks of {}", span.tokens);
    case AttentionSpan::Kind::sparse:
      return fmt::format(", sparse top {}", span.tokens);
    case AttentionSpan::Kind::both:
      return ", both directions";
  }
  return "";
}

struct DescribeMixer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const Attention& a) const {
    return fmt::format("attention {}/{} heads x {}{}{}", a.query_heads, a.kv_heads, a.head_dim,
                       describe(a.span), a.reuses_earlier_cache ? ", shares a cache" : "");
  }
  std::string operator()(const LatentAttention& a) const {
    return fmt::format("latent attention {} heads, cache {}+{}{}", a.query_heads, a.kv_lora_rank,
                       a.rope_dim, describe(a.span));
  }
  std::string operator()(const Mamba2& m) const {
    return fmt::format("Mamba-2 {} heads x {}, state {}", m.heads, m.head_dim, m.state);
  }
  std::string operator()(const GatedDeltaNet& g) const {
    return fmt::format("gated delta net {}/{} heads x {}", g.value_heads, g.key_heads, g.value_dim);
  }
  std::string operator()(const LightningAttention& l) const {
    return fmt::format("lightning attention {} heads x {}", l.heads, l.head_dim);
  }
};

struct DescribeFfn {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const DenseFfn& f) const {
    return fmt::format("dense {}{}", f.intermediate, f.gated ? ", gated" : "");
  }
  std::string operator()(const MoeFfn& f) const {
    std::string text =
        fmt::format("MoE {} x {}, top {}", f.experts, f.expert_intermediate, f.experts_per_token);
    if (f.shared_intermediate > 0) text += fmt::format(", shared {}", f.shared_intermediate);
    return text;
  }
};

/// Descriptions of the layers, with identical ones counted together.
std::vector<LayerKind> layer_kinds(const Transformer& model) {
  std::vector<LayerKind> kinds;
  for (const Layer& layer : model.layers) {
    std::string mixer = std::visit(DescribeMixer{}, layer.mixer);
    std::string ffn = std::visit(DescribeFfn{}, layer.ffn);
    if (mixer != "none") mixer += ", " + layer.mixer_format.name;
    // A format's bits are the mean of its parts, and may differ although the name does not.
    if (const std::string& output = output_format_of(layer).name;
        output != layer.mixer_format.name) {
      mixer += " (output projection " + output + ")";
    }
    if (ffn != "none") ffn += ", " + layer.ffn_format.name;
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& kind) {
      return kind.mixer == mixer && kind.ffn == ffn;
    });
    if (same != kinds.end()) {
      ++same->count;
    } else {
      kinds.push_back({1, std::move(mixer), std::move(ffn)});
    }
  }
  return kinds;
}

}  // namespace

ModelListAnswer list_models() {
  ModelListAnswer answer{.head = answer_head(kModelsCommand)};
  for (CatalogueEntry& entry : catalogue()) {
    const Transformer model = load_model(entry.name);
    const ParameterCount count = count_parameters(model);
    answer.models.push_back(
        {.name = std::move(entry.name),
         .aliases = std::move(entry.aliases),
         .parameters_total = count.total,
         .parameters_active = count.active,
         .weight_bytes = whole(weight_bytes(model, Parallelism{})),
         .kv_bytes_per_token = whole(kv_bytes_per_token(model, cache_dtype(model))),
         .max_context_tokens = model.max_context,
         .source = std::move(entry.source)});
  }
  return answer;
}

ModelAnswer describe_model(const ModelQuestion& question) {
  const Transformer model = load_model_as(question.model, question.weight_format);
  const ParameterCount count = count_parameters(model);
  const DType dtype = cache_dtype(model);
  return {
      .head = answer_head(kModelsCommand),
      .inputs = {.model = model.name},
      .architecture = model.architecture,
      .model_type = model.model_type,
      .parameters_total = count.total,
      .parameters_active = count.active,
      .parameters_active_without_input_embedding = count.active_without_input_embedding,
      .vision_parameters = model.vision_parameters,
      .weight_bytes = whole(weight_bytes(model, Parallelism{})),
      .weights = weights_of(model),
      .kv_cache_dtype = std::string(name_of(dtype)),
      .kv_bytes_per_token = whole(kv_bytes_per_token(model, dtype)),
      .kv_bytes_per_token_full_attention = whole(full_attention_kv_bytes_per_token(model, dtype)),
      .state_bytes_per_sequence = whole(state_bytes_per_sequence(model)),
      .matmul_flops_per_token = matmul_flops_per_token(model, true),
      .max_context_tokens = model.max_context,
      .hidden_size = model.hidden,
      .vocabulary_size = model.vocabulary,
      .layers = layer_kinds(model),
      .notes = model.notes,
      .source = model.source,
      .attention_flops_per_token = attention_flops_per_token(model, kAttentionPosition)};
}

Json to_json(const ModelListAnswer& answer) { return record_to_json(answer); }
Json to_json(const ModelAnswer& answer) { return record_to_json(answer); }

ModelListAnswer model_list_answer_from_json(const Json& json) {
  return answer_from_json<ModelListAnswer>(json, kModelsCommand);
}

ModelAnswer model_answer_from_json(const Json& json) {
  return answer_from_json<ModelAnswer>(json, kModelsCommand);
}

Json model_list_answer_schema() { return schema_document<ModelListAnswer>("roofcast models"); }
Json model_answer_schema() { return schema_document<ModelAnswer>("roofcast models NAME"); }

}  // namespace roofcast
