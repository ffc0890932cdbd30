// Derives the model shape from a GGUF file. Key names: docs/gguf.md and gguf-py/gguf/constants.py;
// tensor names: gguf-py/gguf/tensor_mapping.py, both in github.com/ggml-org/llama.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "model/architecture/weights.hpp"
#include "model/io/config_fields.hpp"
#include "model/io/gguf.hpp"
#include "model/io/quoted_name.hpp"

namespace roofcast {

namespace {

/// Architectures whose layers are attention and a feed-forward block, with sizes in keys.
struct GgufFamily {
  std::string_view name;
  /// Every `window_period`-th layer has full attention, the others a window (set_swa_pattern in
  /// llama.cpp's src/llama-model.cpp); 0: no windows.
  std::int64_t window_period;
};
constexpr std::array kGgufFamilies{
    GgufFamily{"llama", 0},    GgufFamily{"mistral3", 0}, GgufFamily{"qwen2", 0},
    GgufFamily{"qwen2moe", 0}, GgufFamily{"qwen3", 0},    GgufFamily{"qwen3moe", 0},
    GgufFamily{"gemma", 0},    GgufFamily{"gemma2", 2},   GgufFamily{"gemma3", 6},
    GgufFamily{"phi3", 0},     GgufFamily{"gpt-oss", 2},  GgufFamily{"deepseek2", 0}};

/// The largest value of a key, as in a config.json.
std::int64_t largest(std::string_view key) {
  if (key == "block_count") return kMaxLayers;
  if (key == "context_length" || key == "attention.sliding_window") return kLongestContext;
  if (key.ends_with("feed_forward_length")) return kWidestFfn;
  if (key.starts_with("attention.head_count")) return kMaxHeads;
  return key.starts_with("expert_") ? kMaxExperts : kWidest;
}

/// Keys with the file's architecture as prefix: "llama.block_count" for "block_count".
class Keys {
 public:
  explicit Keys(const GgufFile& file) : file_(file) {}

  std::optional<std::int64_t> find(const std::string& key, std::int64_t layer = 0) const {
    const std::string name = file_.architecture + "." + key;
    const auto found = file_.values.find(name);
    if (found == file_.values.end()) return std::nullopt;
    std::optional<std::int64_t> value;
    if (const auto* whole = std::get_if<std::int64_t>(&found->second)) value = *whole;
    if (const auto* list = std::get_if<GgufList>(&found->second)) {
      if (layer < static_cast<std::int64_t>(list->values.size())) {
        value = list->values[static_cast<std::size_t>(layer)];
      }
    }
    if (!value) throw Error(fmt::format("{}: {} is not a size", file_.path, quoted_name(name)));
    if (*value < 0 || *value > largest(key)) {
      throw Error(fmt::format("{}: {} is {}, expected 0 to {}", file_.path, quoted_name(name),
                              *value, largest(key)));
    }
    return value;
  }

  std::int64_t require(const std::string& key, std::int64_t layer = 0) const {
    const std::optional<std::int64_t> value = find(key, layer);
    if (!value || *value == 0) {
      throw Error(fmt::format("{}: architecture {} needs the key '{}.{}', which is missing",
                              file_.path, quoted_name(file_.architecture), file_.architecture,
                              key));
    }
    return *value;
  }

  std::int64_t find_or(const std::string& key, std::int64_t fallback,
                       std::int64_t layer = 0) const {
    return find(key, layer).value_or(fallback);
  }

 private:
  const GgufFile& file_;
};

/// The tensors of one layer, or outside the layers (prefix ""), by name without the prefix.
class Tensors {
 public:
  void add(const std::string& name, const GgufTensor& tensor) { by_name_[name] = &tensor; }

  const GgufTensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  bool has(const std::string& name) const { return find(name) != nullptr; }
  bool empty() const { return by_name_.empty(); }
  std::int64_t elements(const std::string& name) const {
    const GgufTensor* tensor = find(name);
    return tensor == nullptr ? 0 : tensor->elements;
  }
  const std::map<std::string, const GgufTensor*>& all() const { return by_name_; }

 private:
  std::map<std::string, const GgufTensor*> by_name_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The storage format of a group of tensors: named by the type with most bytes, with average bits.
/// GGUF weights of every type are unpacked to 16 bits to be multiplied.
WeightFormat format_of(const std::vector<const GgufTensor*>& tensors) {
  std::map<std::string, double> bytes_by_type;
  double bytes = 0;
  double elements = 0;
  for (const GgufTensor* tensor : tensors) {
    bytes_by_type[tensor->type] += tensor->bytes.value;
    bytes += tensor->bytes.value;
    elements += static_cast<double>(tensor->elements);
  }
  if (elements == 0) return plain_format(DType::fp16);
  const auto main_type =
      std::max_element(bytes_by_type.begin(), bytes_by_type.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::optional<DType> plain = parse_dtype(main_type->first);
  const bool floating = plain == DType::fp32 || plain == DType::fp16 || plain == DType::bf16;
  return {.name = floating ? std::string(name_of(*plain)) : main_type->first,
          .bits_per_weight = bytes * 8.0 / elements,
          .compute = floating ? *plain : DType::fp16};
}

template <class Predicate>
WeightFormat format_where(const Tensors& tensors, Predicate wanted) {
  std::vector<const GgufTensor*> group;
  for (const auto& [name, tensor] : tensors.all()) {
    if (wanted(name)) group.push_back(tensor);
  }
  return format_of(group);
}

bool is_norm(const std::string& name) { return contains(name, "norm."); }

/// Norms inside the mixer are counted with the mixer.
bool is_mixer_norm(const std::string& name) {
  return contains(name, "attn_q_norm") || contains(name, "attn_k_norm") ||
         contains(name, "attn_q_a_norm") || contains(name, "attn_kv_a_norm");
}

AttentionSpan span_of(const Keys& keys, const GgufFamily& family, std::int64_t layer,
                      std::int64_t context) {
  if (family.window_period == 0) return {};
  const std::int64_t window = keys.require("attention.sliding_window");
  if (window >= context) return {};
  const bool full = layer % family.window_period == family.window_period - 1;
  return full ? AttentionSpan{}
              : AttentionSpan{.kind = AttentionSpan::Kind::sliding, .tokens = window};
}

Attention grouped_attention(const Keys& keys, const Tensors& tensors, std::int64_t layer) {
  Attention a;
  a.query_heads = keys.require("attention.head_count", layer);
  a.kv_heads = keys.find_or("attention.head_count_kv", a.query_heads, layer);
  const std::int64_t hidden = keys.require("embedding_length");
  a.head_dim = keys.find_or("attention.key_length", hidden / a.query_heads);
  a.value_head_dim = keys.find_or("attention.value_length", a.head_dim);
  a.qkv_bias = tensors.has("attn_q.bias") || tensors.has("attn_qkv.bias");
  a.output_bias = tensors.has("attn_output.bias");
  a.qk_norm_elements =
      tensors.elements("attn_q_norm.weight") + tensors.elements("attn_k_norm.weight");
  a.sink_elements = tensors.elements("attn_sinks.weight");
  return a;
}

/// DeepSeek-V2 and V3. In files written for absorbed attention key_length is the cache's width and
/// key_length_mla the heads' own.
LatentAttention latent_attention(const Keys& keys) {
  LatentAttention a;
  a.query_heads = keys.require("attention.head_count");
  a.q_lora_rank = keys.find_or("attention.q_lora_rank", 0);
  a.kv_lora_rank = keys.require("attention.kv_lora_rank");
  a.rope_dim = keys.require("rope.dimension_count");
  const std::optional<std::int64_t> absorbed = keys.find("attention.key_length_mla");
  const std::int64_t key = absorbed ? *absorbed : keys.require("attention.key_length");
  a.nope_dim = std::max<std::int64_t>(0, key - a.rope_dim);
  a.value_head_dim = absorbed ? keys.require("attention.value_length_mla")
                              : keys.require("attention.value_length");
  return a;
}

MoeFfn experts_of(const Keys& keys, const Tensors& tensors, std::int64_t layer) {
  MoeFfn m;
  m.experts = keys.require("expert_count");
  m.experts_per_token = keys.require("expert_used_count");
  const std::optional<std::int64_t> width = keys.find("expert_feed_forward_length", layer);
  m.expert_intermediate = width ? *width : keys.require("feed_forward_length", layer);
  // Older Mixtral files have one tensor per expert.
  m.gated = tensors.has("ffn_gate_exps.weight") || tensors.has("ffn_gate.0.weight") ||
            tensors.has("ffn_gate_up_exps.weight");
  m.router_bias = tensors.has("ffn_gate_inp.bias") || tensors.has("exp_probs_b.bias") ||
                  tensors.has("exp_probs_b");
  m.expert_bias = tensors.has("ffn_up_exps.bias");
  if (tensors.has("ffn_up_shexp.weight")) {
    const std::int64_t shared = keys.find_or("expert_shared_count", 1) * m.expert_intermediate;
    m.shared_intermediate = keys.find_or("expert_shared_feed_forward_length", shared);
    m.shared_gate = tensors.has("ffn_gate_inp_shexp.weight");
  }
  return m;
}

DenseFfn dense_of(const Keys& keys, const Tensors& tensors, std::int64_t layer) {
  DenseFfn f;
  f.intermediate = keys.require("feed_forward_length", layer);
  // Phi-3 stores gate and up in one tensor of twice the width.
  const GgufTensor* up = tensors.find("ffn_up.weight");
  const bool fused = up != nullptr && up->shape.size() > 1 && up->shape[1] == 2 * f.intermediate;
  f.gated = fused || tensors.has("ffn_gate.weight");
  f.bias = tensors.has("ffn_up.bias");
  return f;
}

Layer layer_of(const Keys& keys, const GgufFamily& family, const Tensors& tensors,
               std::int64_t index, std::int64_t context) {
  Layer layer;
  if (family.name == "deepseek2") {
    layer.mixer = latent_attention(keys);
  } else {
    Attention attention = grouped_attention(keys, tensors, index);
    attention.span = span_of(keys, family, index, context);
    layer.mixer = attention;
  }
  if (tensors.has("ffn_gate_inp.weight")) {
    layer.ffn = experts_of(keys, tensors, index);
  } else {
    layer.ffn = dense_of(keys, tensors, index);
  }
  for (const auto& [name, tensor] : tensors.all()) {
    if (is_norm(name) && !is_mixer_norm(name)) layer.norm_elements += tensor->elements;
  }
  layer.mixer_format = format_where(tensors, [](const std::string& name) {
    return name.rfind("attn_", 0) == 0 && contains(name, ".weight") && !is_norm(name);
  });
  layer.shared_format = format_where(tensors, [](const std::string& name) {
    return contains(name, "shexp.weight") && !contains(name, "ffn_gate_inp");
  });
  layer.ffn_format = format_where(tensors, [](const std::string& name) {
    return name.rfind("ffn_", 0) == 0 && contains(name, ".weight") && !is_norm(name) &&
           !contains(name, "shexp") && !contains(name, "ffn_gate_inp");
  });
  return layer;
}

// Tolerated difference between a layer's stored elements and those its keys imply. Not zero: some
// files store a latent up-projection in two forms, or frequency tables with the weights.
constexpr double kSizeTolerance = 0.05;

/// Refuses a layer whose keys and tensors disagree: its shape is not understood.
void check_layer_size(const GgufFile& file, const Layer& layer, const Tensors& tensors,
                      std::int64_t hidden, std::int64_t index) {
  double expected = 0;
  for (const Weight& weight : layer_weights(layer, hidden, DType::fp16)) {
    expected += static_cast<double>(weight.outputs) * static_cast<double>(weight.inputs) *
                static_cast<double>(weight.copies);
  }
  double stored = 0;
  for (const auto& [name, tensor] : tensors.all()) stored += static_cast<double>(tensor->elements);
  if (std::abs(stored - expected) > kSizeTolerance * expected) {
    throw Error(fmt::format(
        "{}: layer {} stores {} elements, but its keys imply {}; an unknown variant of {}",
        file.path, index, stored, expected, quoted_name(file.architecture)));
  }
}

/// Tensors sorted by name into layers ("blk.3.attn_q.weight") and the rest.
struct SortedTensors {
  std::vector<Tensors> layers;
  Tensors ends;
};

SortedTensors sort_tensors(const GgufFile& file, std::int64_t layers) {
  SortedTensors sorted;
  sorted.layers.resize(static_cast<std::size_t>(layers));
  constexpr std::string_view kBlock = "blk.";
  for (const GgufTensor& tensor : file.tensors) {
    if (tensor.name.rfind(kBlock, 0) != 0) {
      sorted.ends.add(tensor.name, tensor);
      continue;
    }
    const std::size_t dot = tensor.name.find('.', kBlock.size());
    const std::string number = tensor.name.substr(kBlock.size(), dot - kBlock.size());
    const std::int64_t layer = to_number<std::int64_t>(number).value_or(layers);
    // "-0" would be read as 0.
    const bool is_signed = number.starts_with('-');
    if (dot == std::string::npos || is_signed || layer < 0 || layer >= layers) {
      throw Error(fmt::format("{}: tensor {} does not belong to any layer below {}", file.path,
                              quoted_name(tensor.name), layers));
    }
    sorted.layers[static_cast<std::size_t>(layer)].add(tensor.name.substr(dot + 1), tensor);
  }
  return sorted;
}

const GgufFamily& family_of(const GgufFile& file) {
  if (file.architecture.empty()) {
    throw Error(fmt::format(
        "{}: no 'general.architecture'; in a split model, the first part has it", file.path));
  }
  const auto same = [&](const GgufFamily& f) { return f.name == file.architecture; };
  const auto found = std::find_if(kGgufFamilies.begin(), kGgufFamilies.end(), same);
  if (found != kGgufFamilies.end()) return *found;
  std::string known;
  for (const GgufFamily& family : kGgufFamilies) known += fmt::format(" {}", family.name);
  throw Error(fmt::format(
      "{}: architecture {} is not supported in GGUF; supported:{}; its config.json may be",
      file.path, quoted_name(file.architecture), known));
}

const GgufTensor& require_tensor(const GgufFile& file, const Tensors& tensors,
                                 const std::string& name, std::size_t dimensions) {
  const GgufTensor* tensor = tensors.find(name);
  if (tensor == nullptr || tensor->shape.size() != dimensions) {
    throw Error(
        fmt::format("{}: tensor '{}' with {} dimensions is missing", file.path, name, dimensions));
  }
  return *tensor;
}

std::string model_name(const GgufFile& file) {
  const auto found = file.values.find("general.name");
  const auto* name =
      found == file.values.end() ? nullptr : std::get_if<std::string>(&found->second);
  return name != nullptr && !name->empty() ? *name
                                           : std::filesystem::path(file.path).stem().string();
}

void read_ends(const GgufFile& file, const Tensors& ends, Transformer& model) {
  const GgufTensor& embedding = require_tensor(file, ends, "token_embd.weight", 2);
  if (embedding.shape[0] != model.hidden) {
    throw Error(fmt::format("{}: 'token_embd.weight' has width {}, but 'embedding_length' is {}",
                            file.path, embedding.shape[0], model.hidden));
  }
  model.vocabulary = embedding.shape[1];
  model.embedding_format = format_of({&embedding});
  model.tied_embeddings = !ends.has("output.weight");
  model.lm_head_format =
      model.tied_embeddings ? model.embedding_format : format_of({ends.find("output.weight")});
  model.lm_head_bias = ends.has("output.bias");
  model.final_norm_elements =
      ends.elements("output_norm.weight") + ends.elements("output_norm.bias");
}

}  // namespace

Transformer to_transformer(const GgufFile& file) {
  const GgufFamily& family = family_of(file);
  if (!file.complete) {
    throw Error(fmt::format("{}: one of {} parts; put them all in one folder and name the first",
                            file.path, file.parts));
  }
  const Keys keys(file);
  Transformer model;
  model.name = model_name(file);
  model.model_type = file.architecture;
  model.architecture = file.architecture;
  model.hidden = keys.require("embedding_length");
  model.max_context = keys.require("context_length");
  model.activation = DType::fp16;
  model.source = file.path;
  const std::int64_t layers = keys.require("block_count");
  const SortedTensors tensors = sort_tensors(file, layers);
  read_ends(file, tensors.ends, model);
  for (std::int64_t i = 0; i < layers; ++i) {
    const Tensors& own = tensors.layers[static_cast<std::size_t>(i)];
    if (own.empty()) {
      throw Error(fmt::format("{}: layer {} of {} has no tensors", file.path, i, layers));
    }
    model.layers.push_back(layer_of(keys, family, own, i, model.max_context));
    check_layer_size(file, model.layers.back(), own, model.hidden, i);
  }
  Bytes stored;
  for (const GgufTensor& tensor : file.tensors) stored += tensor.bytes;
  model.checkpoint_bytes = stored;
  return model;
}

}  // namespace roofcast
