#include "model/io/model_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/architecture/weights.hpp"
#include "model/io/families.hpp"
#include "model/io/gguf.hpp"
#include "model/io/json_text.hpp"
#include "model/io/model_parts.hpp"
#include "model/io/quantization.hpp"
#include "model/io/safetensors.hpp"

namespace roofcast {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// The fields of the language model: a nested config if there is one.
Fields language_fields(const Fields& top) {
  if (const auto thinker = top.object("thinker_config")) return language_fields(*thinker);
  for (const std::string_view key : {"text_config", "llm_config", "language_config"}) {
    if (const auto nested = top.object(key)) return *nested;
  }
  return top;
}

std::string architecture_of(const Fields& top, const Fields& text) {
  for (const Fields& fields : {top, text}) {
    const std::vector<std::string> all = fields.texts("architectures");
    if (!all.empty()) return all.front();
  }
  return {};
}

std::string known_families() {
  std::vector<std::string_view> kinds;
  for (const Family& family : families()) kinds.push_back(family.kind);
  return fmt::format("{}", fmt::join(kinds, ", "));
}

/// The family, by the nested model_type, the outer one, or the architecture.
const Family& family_of(const Fields& top, const Fields& text) {
  const std::string architecture = architecture_of(top, text);
  const std::string inner = text.text({"model_type"});
  const std::string outer = top.text({"model_type"});
  for (const std::string& model_type : {inner, outer}) {
    if (model_type.empty()) continue;
    if (const Family* const family = find_family(model_type, {})) return *family;
  }
  if (const Family* const family = find_family({}, architecture)) return *family;
  if (architecture.empty() && outer.empty() && inner.empty()) {
    throw Error(fmt::format("{}: has neither 'model_type' nor 'architectures'", top.where()));
  }
  throw Error(fmt::format("{}: architecture '{}' (model_type '{}') is unknown; known: {}",
                          top.where(), architecture, outer.empty() ? inner : outer,
                          known_families()));
}

/// vLLM serves fp32 checkpoints in bf16 by default (vllm/config/model.py, _resolve_auto_dtype).
DType activation_of(const Fields& top, const Fields& text, Transformer& model) {
  std::string name = top.text({"dtype", "torch_dtype"});
  if (name.empty()) name = text.text({"dtype", "torch_dtype"});
  if (name.empty()) return DType::bf16;
  const auto dtype = parse_dtype(name);
  if (!dtype || bits_of(*dtype) < 16) {
    top.fail("dtype", fmt::format("is '{}', expected bfloat16, float16 or float32", name));
  }
  if (*dtype != DType::fp32) return *dtype;
  model.notes.push_back("the checkpoint is fp32; counted in bf16, which engines serve by default");
  return DType::bf16;
}

bool tied_embeddings(const Fields& top, const Fields& text, bool by_default) {
  constexpr std::string_view kKey = "tie_word_embeddings";
  if (text.has(kKey)) return text.flag({kKey}, by_default);
  return top.flag({kKey}, by_default);
}

std::int64_t vocabulary_of(const Fields& text, const Family& family) {
  const Names names = {"vocab_size", "padded_vocab_size", "n_vocab"};
  if (family.default_vocabulary == 0) return text.size(names, kLargestVocabulary);
  return text.size_or(names, family.default_vocabulary, kLargestVocabulary);
}

void set_plain_formats(Transformer& model) {
  const WeightFormat plain = plain_format(model.activation);
  model.embedding_format = model.lm_head_format = plain;
  const auto make_plain = [&](std::vector<ExtraWeight>& extra) {
    for (ExtraWeight& weight : extra) {
      if (weight.format == WeightFormat{}) weight.format = plain;
    }
  };
  make_plain(model.extra);
  for (Layer& layer : model.layers) {
    layer.mixer_format = layer.ffn_format = layer.shared_format = plain;
    make_plain(layer.extra);
  }
}

/// Reads the quantization_config of the outer config, of the nested one, or the separate file.
void read_formats(const Fields& top, const Fields& text, const std::optional<Fields>& beside,
                  const Family& family, Transformer& model) {
  set_plain_formats(model);
  std::optional<Fields> found = top.object("quantization_config");
  if (!found) found = top.object("compression_config");
  if (!found) found = text.object("quantization_config");
  const std::optional<Fields> described = found ? found : beside;
  if (!described) return;
  QuantizationScheme scheme = read_quantization(*described, model.activation);
  if (text.text({"expert_dtype"}) == "fp4" && scheme.method == "fp8") {
    // DeepSeek-V4: MXFP4 experts multiplied with fp8 activations.
    scheme.experts = weight_format_named("mxfp4");
    scheme.experts->compute = DType::fp8;
  }
  if (!scheme.kv_cache && beside) {
    scheme.kv_cache = read_kv_cache_dtype(beside->object("quantization").value_or(*beside));
  }
  apply_quantization(scheme, family.names, model);
}

/// Beyond any encoder's width.
constexpr std::int64_t kWidestVision = 100'000;

void read_vision(const Fields& top, Transformer& model) {
  const auto tower = vision_tower(top, model.hidden);
  model.vision_parameters = tower.value_or(VisionTower{}).parameters;
  model.vision = tower.value_or(VisionTower{}).encoder;
  if (const auto vision = top.object("vision_config")) {
    model.has_vision = true;
    model.vision_layers =
        vision->count_or({"num_hidden_layers", "vt_num_hidden_layers"}, 0, kMaxLayers);
    model.vision_hidden = vision->count_or({"hidden_size", "vt_hidden_size"}, 0, kWidestVision);
  }
  if (!tower) model.notes.push_back("the vision tower is not counted: its shape is unknown");
  if (top.has("audio_config")) model.notes.push_back("the audio encoder is not counted");
}

void read_draft_layers(const Fields& text, Transformer& model) {
  model.next_token_layers = text.count_or(
      {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}, 0, kMaxLayers);
  if (model.next_token_layers > 0) {
    const bool several = model.next_token_layers > 1;
    model.notes.push_back(
        fmt::format("{} multi-token-prediction block{} of the checkpoint {} not counted",
                    model.next_token_layers, several ? "s" : "", several ? "are" : "is"));
  }
}

Transformer read_model(const Fields& top, const std::optional<Fields>& beside) {
  const Fields text = language_fields(top);
  const Family& family = family_of(top, text);
  Transformer model;
  model.model_type = text.text({"model_type"}, std::string(family.kind));
  model.architecture = architecture_of(top, text);
  model.hidden = text.size({"hidden_size", "n_embd", "d_model", "n_embed"});
  model.vocabulary = vocabulary_of(text, family);
  model.tied_embeddings = tied_embeddings(top, text, family.tied_by_default);
  family.build(text, model);
  check_bounds(model, top.where());
  model.activation = activation_of(top, text, model);
  if (model.max_context == 0) model.max_context = longest_context(text, model.model_type);
  if (model.max_context == 0) model.max_context = family.default_context;
  read_formats(top, text, beside, family, model);
  read_draft_layers(text, model);
  read_vision(top, model);
  text.check_sizes_understood(family.kind);
  model.model_type = top.text({"model_type"}, model.model_type);
  return model;
}

/// Whether files hold more than an engine loads: draft blocks, a second copy of a tied embedding,
/// or fp32 that is served in 16 bits.
bool holds_what_is_not_loaded(const Checkpoint& checkpoint, const Transformer& model) {
  const bool wide = std::any_of(
      checkpoint.by_dtype.begin(), checkpoint.by_dtype.end(), [&](const StoredBytes& stored) {
        return stored.dtype == "F32" && stored.bytes > checkpoint.bytes / 2.0;
      });
  return model.next_token_layers > 0 || model.tied_embeddings || wide;
}

/// Uses the exact bytes on disk, with a note if they differ from the formula's by more than 2 %. If
/// the files hold more for a reason that keeps it off the GPU, the formula is used.
void use_checkpoint(const fs::path& folder, Transformer& model) {
  constexpr double kTolerance = 0.02;
  const auto checkpoint = read_checkpoint(folder.string());
  if (!checkpoint) return;
  const Bytes formula = weight_bytes(model, Parallelism{});
  const double ratio = checkpoint->bytes / formula;
  if (ratio > 1.0 && holds_what_is_not_loaded(*checkpoint, model)) {
    model.notes.push_back(
        fmt::format("the checkpoint ({}) has {:.3f} GB; counted are the {:.3f} GB that an engine "
                    "loads, without draft blocks, duplicates, or fp32 copies of 16-bit weights",
                    checkpoint->source, checkpoint->bytes.value / 1e9, formula.value / 1e9));
    return;
  }
  model.checkpoint_bytes = checkpoint->bytes;
  if (std::abs(ratio - 1.0) <= kTolerance) return;
  model.notes.push_back(
      fmt::format("the checkpoint ({}) has {:.3f} GB, the formula gives {:.3f} GB: the difference "
                  "is draft blocks, untied copies or another format",
                  checkpoint->source, checkpoint->bytes.value / 1e9, formula.value / 1e9));
}

/// The sampling defaults that vLLM takes from the generation_config.json in the config's folder
/// (ModelConfig.get_diff_sampling_param); temperature costs no time.
SamplingKind read_sampling(const fs::path& file) {
  if (!fs::exists(file)) return SamplingKind::plain;
  const json document = parse_json(read_text_file(file.string()), file.string());
  const Fields fields(document, file.string());
  if (fields.number({"repetition_penalty"}).value_or(1.0) != 1.0) return SamplingKind::penalty;
  const bool filtered =
      fields.number({"top_p"}).value_or(1.0) < 1.0 || fields.number({"top_k"}).value_or(0.0) > 0.0;
  return filtered ? SamplingKind::top_p : SamplingKind::plain;
}

Transformer load_config(const fs::path& file) {
  const fs::path folder = file.parent_path();
  const fs::path beside = folder / "hf_quant_config.json";
  const std::string quantization =
      fs::exists(beside) ? read_text_file(beside.string()) : std::string{};
  Transformer model = parse_model(read_text_file(file.string()), quantization, file.string());
  model.sampling = read_sampling(folder / "generation_config.json");
  use_checkpoint(folder.empty() ? fs::path(".") : folder, model);
  return model;
}

std::vector<fs::path> gguf_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Transformer load_folder(const fs::path& folder) {
  for (const char* const name : {"config.json", "params.json"}) {
    if (fs::exists(folder / name)) return load_config(folder / name);
  }
  const std::vector<fs::path> gguf = gguf_files(folder);
  const bool first_of_several =
      gguf.size() > 1 && gguf.front().filename().string().find("-00001-of-") != std::string::npos;
  if (gguf.size() == 1 || first_of_several) return to_transformer(read_gguf(gguf.front().string()));
  throw Error(fmt::format("{}: the folder has no config.json, no params.json and {} .gguf file",
                          folder.string(), gguf.empty() ? "no" : "more than one"));
}

}  // namespace

Transformer model_of_config(const json& config, const std::string& where) {
  Transformer model = read_model(Fields(config, where), std::nullopt);
  model.name = where;
  model.source = where;
  return model;
}

Transformer parse_model(const std::string& config_text, const std::string& quant_config_text,
                        const std::string& where) {
  json document = parse_json(config_text, where);
  if (is_mistral_params(document)) document = from_mistral_params(document, where);
  json quantization;
  std::optional<Fields> beside;
  if (!quant_config_text.empty()) {
    const std::string quant_where = where + ": hf_quant_config.json";
    quantization = parse_json(quant_config_text, quant_where);
    beside.emplace(quantization, quant_where);
  }
  Transformer model = read_model(Fields(document, where), beside);
  model.name = where;
  model.source = where;
  return model;
}

Transformer load_model(const std::string& model) {
  std::error_code ignored;  // a name that cannot be a path is looked up in the catalogue
  const fs::path path(model);
  Transformer loaded;
  if (fs::is_directory(path, ignored)) {
    loaded = load_folder(path);
  } else if (fs::is_regular_file(path, ignored)) {
    loaded = path.extension() == ".gguf" ? to_transformer(read_gguf(model)) : load_config(path);
  } else {
    return load_catalogue_model(model);
  }
  loaded.name = model;
  return loaded;
}

}  // namespace roofcast
