// Derives the format of each block of each layer from a quantisation scheme.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/io/quantization.hpp"

namespace roofcast {

namespace {

/// One matrix of a layer under its names in checkpoints (separate or fused).
struct Module {
  std::vector<std::string> names;
  std::int64_t parameters = 0;
};

std::vector<std::string> prefixed(std::string_view block, std::vector<std::string> names) {
  const std::string prefix = fmt::format("{}.", block);
  for (std::string& name : names) name.insert(0, prefix);
  return names;
}

std::vector<Module> mixer_modules(const Attention& a, std::int64_t hidden,
                                  const ModuleNames& names) {
  const std::int64_t q = a.query_heads * a.head_dim * (a.output_gate ? 2 : 1);
  const std::int64_t o = a.query_heads * a.value_head_dim;
  const std::string_view block = names.attention;
  if (a.q_lora_rank > 0) {
    return {{prefixed(block, {"wq_a"}), hidden * a.q_lora_rank},
            {prefixed(block, {"wq_b"}), a.q_lora_rank * q},
            {prefixed(block, {"wkv"}), hidden * a.kv_heads * a.head_dim},
            {prefixed(block, {"wo_a"}), o * a.output_lora_rank},
            {prefixed(block, {"wo_b"}), a.output_groups * a.output_lora_rank * hidden}};
  }
  return {
      {prefixed(block, {"q_proj", "qkv_proj", "query_key_value"}), hidden * q},
      {prefixed(block, {"k_proj", "qkv_proj", "query_key_value"}),
       a.reuses_earlier_cache ? 0 : hidden * a.kv_heads * a.head_dim},
      {prefixed(block, {"v_proj", "qkv_proj", "query_key_value"}),
       a.reuses_earlier_cache || a.keys_are_values ? 0 : hidden * a.kv_heads * a.value_head_dim},
      {prefixed(block, {"o_proj", "dense"}), o * hidden}};
}

std::vector<Module> mixer_modules(const LatentAttention& a, std::int64_t hidden,
                                  const ModuleNames& names) {
  const std::string_view block = names.attention;
  const std::int64_t q = a.query_heads * (a.nope_dim + a.rope_dim);
  std::vector<Module> modules = {
      {prefixed(block, {"kv_a_proj_with_mqa", "fused_qkv_a_proj"}),
       hidden * (a.kv_lora_rank + a.rope_dim)},
      {prefixed(block, {"kv_b_proj"}),
       a.kv_lora_rank * a.query_heads * (a.nope_dim + a.value_head_dim)},
      {prefixed(block, {"o_proj"}), a.query_heads * a.value_head_dim * hidden}};
  if (a.q_lora_rank > 0) {
    modules.push_back({prefixed(block, {"q_a_proj", "fused_qkv_a_proj"}), hidden * a.q_lora_rank});
    modules.push_back({prefixed(block, {"q_b_proj"}), a.q_lora_rank * q});
  } else {
    modules.push_back({prefixed(block, {"q_proj"}), hidden * q});
  }
  if (a.index_heads > 0) {
    modules.push_back(
        {prefixed(block, {"indexer.wq_b"}), a.q_lora_rank * a.index_heads * a.index_head_dim});
    modules.push_back({prefixed(block, {"indexer.wk"}), hidden * a.index_head_dim});
  }
  return modules;
}

std::vector<Module> mixer_modules(const Mamba2& m, std::int64_t hidden, const ModuleNames& names) {
  const std::int64_t inner = m.heads * m.head_dim;
  return {
      {prefixed(names.state, {"in_proj"}), hidden * (2 * inner + 2 * m.groups * m.state + m.heads)},
      {prefixed(names.state, {"out_proj"}), inner * hidden}};
}

std::vector<Module> mixer_modules(const GatedDeltaNet& g, std::int64_t hidden,
                                  const ModuleNames& names) {
  const std::int64_t keys = g.key_heads * g.key_dim;
  const std::int64_t values = g.value_heads * g.value_dim;
  return {{prefixed(names.state, {"in_proj_qkv", "in_proj_qkvz"}), hidden * (2 * keys + values)},
          {prefixed(names.state, {"in_proj_z", "in_proj_qkvz"}), hidden * values},
          {prefixed(names.state, {"in_proj_a", "in_proj_ba"}), hidden * g.value_heads},
          {prefixed(names.state, {"in_proj_b", "in_proj_ba"}), hidden * g.value_heads},
          {prefixed(names.state, {"out_proj"}), values * hidden}};
}

std::vector<Module> mixer_modules(const LightningAttention& l, std::int64_t hidden,
                                  const ModuleNames& names) {
  const std::int64_t width = hidden * l.heads * l.head_dim;
  return {{prefixed(names.attention, {"qkv_proj"}), 3 * width},
          {prefixed(names.attention, {"output_gate"}), width},
          {prefixed(names.attention, {"out_proj"}), width}};
}

std::vector<Module> mixer_modules(std::monostate, std::int64_t, const ModuleNames&) { return {}; }

/// Names as in Hugging Face checkpoints and in those with w1, w2, w3; the matrices have equal
/// sizes.
std::vector<Module> ffn_modules(const std::string& block, bool gated, std::int64_t elements) {
  std::vector<Module> modules = {
      {prefixed(block, {"up_proj", "gate_up_proj", "w3", "dense_h_to_4h"}), elements},
      {prefixed(block, {"down_proj", "w2", "dense_4h_to_h"}), elements}};
  if (gated) modules.push_back({prefixed(block, {"gate_proj", "gate_up_proj", "w1"}), elements});
  return modules;
}

WeightFormat combined(const std::vector<std::pair<WeightFormat, std::int64_t>>& parts) {
  const auto max = std::max_element(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  double bits = 0;
  std::int64_t parameters = 0;
  for (const auto& [format, count] : parts) {
    bits += format.bits_per_weight * static_cast<double>(count);
    parameters += count;
  }
  WeightFormat format = max->first;
  if (parts.size() > 1) format.bits_per_weight = bits / static_cast<double>(parameters);
  return format;
}

/// The formats of one model's modules, layer by layer.
class Resolver {
 public:
  Resolver(const QuantizationScheme& scheme, const WeightFormat& plain)
      : scheme_(scheme), plain_(plain) {}

  bool mixed() const { return mixed_; }

  WeightFormat block(std::size_t layer, const std::vector<Module>& modules, bool experts = false) {
    std::vector<std::pair<WeightFormat, std::int64_t>> parts;
    for (const Module& module : modules) {
      if (module.parameters == 0) continue;
      const WeightFormat format = of(layer, module, experts);
      const auto same = std::find_if(parts.begin(), parts.end(),
                                     [&](const auto& part) { return part.first == format; });
      if (same != parts.end()) {
        same->second += module.parameters;
      } else {
        parts.emplace_back(format, module.parameters);
      }
    }
    if (parts.empty()) return plain_;
    mixed_ = mixed_ || parts.size() > 1;
    return combined(parts);
  }

  /// The format listed under the module's own name; null if it is not listed.
  const WeightFormat* listed(const std::string& name) const {
    for (std::string_view part = name; !part.empty();) {
      const auto found = scheme_.by_module.find(part);
      if (found != scheme_.by_module.end()) return &found->second;
      const std::size_t dot = part.rfind('.');
      part = dot == std::string_view::npos ? std::string_view{} : part.substr(0, dot);
    }
    return nullptr;
  }

 private:
  WeightFormat of(std::size_t layer, const Module& module, bool experts) const {
    const std::string prefix = fmt::format("layers.{}.", layer);
    std::vector<std::string> names;
    for (const std::string& name : module.names) {
      names.push_back(prefix + name);
    }
    for (const std::string& name : names) {
      if (const WeightFormat* const format = listed(name)) return *format;
    }
    const auto matches = [&](const ModulePatterns& patterns) {
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return patterns.matches(name); });
    };
    if (matches(scheme_.excluded)) return plain_;
    if (experts && scheme_.experts) return *scheme_.experts;
    for (const QuantizedGroup& group : scheme_.groups) {
      if (group.all_linear || matches(group.targets)) return group.format;
    }
    return plain_;
  }

  const QuantizationScheme& scheme_;
  WeightFormat plain_;
  bool mixed_ = false;
};

/// The output projection of latent attention, its last module but those of an indexer, may have a
/// format of its own.
void set_mixer_formats(std::size_t index, const std::vector<Module>& modules, Resolver& resolver,
                       Layer& layer) {
  const auto is_output = [](const Module& module) {
    return std::ranges::any_of(module.names,
                               [](const std::string& name) { return name.ends_with(".o_proj"); });
  };
  const auto output = std::ranges::find_if(modules, is_output);
  if (!std::holds_alternative<LatentAttention>(layer.mixer) || output == modules.end()) {
    layer.mixer_format = resolver.block(index, modules);
    return;
  }
  std::vector<Module> others;
  std::ranges::remove_copy_if(modules, std::back_inserter(others), is_output);
  layer.mixer_format = resolver.block(index, others);
  const WeightFormat format = resolver.block(index, {*output});
  if (format != layer.mixer_format) layer.output_format = format;
}

void set_ffn_formats(std::size_t index, const ModuleNames& names, std::int64_t hidden,
                     Resolver& resolver, Layer& layer) {
  if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
    layer.ffn_format = resolver.block(
        index, ffn_modules(std::string(names.dense), dense->gated, hidden * dense->intermediate));
  }
  const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
  if (moe == nullptr) return;
  // All experts are alike: the first represents them.
  const std::string first_expert = fmt::format("{}.0", names.experts);
  constexpr bool kExperts = true;
  layer.ffn_format = resolver.block(
      index, ffn_modules(first_expert, moe->gated, hidden * moe->expert_intermediate), kExperts);
  if (moe->shared_intermediate > 0) {
    layer.shared_format = resolver.block(index, ffn_modules(std::string(names.shared), moe->gated,
                                                            hidden * moe->shared_intermediate));
  }
}

/// Whether the scheme may store the same block of two layers in different formats.
bool tells_layers_apart(const QuantizationScheme& scheme) {
  return std::ranges::any_of(scheme.by_module,
                             [](const auto& one) { return one.first.starts_with("layers"); }) ||
         scheme.excluded.tell_layers_apart() ||
         std::ranges::any_of(scheme.groups, [](const QuantizedGroup& group) {
           return group.targets.tell_layers_apart();
         });
}

/// The layer before number `index` that has the same blocks; null: there is none.
const Layer* like_layer(const Transformer& model, std::size_t index) {
  const Layer& layer = model.layers[index];
  for (std::size_t i = index; i-- > 0;) {
    const Layer& other = model.layers[i];
    if (other.mixer == layer.mixer && other.ffn == layer.ffn) return &other;
  }
  return nullptr;
}

WeightFormat lm_head_format(const QuantizationScheme& scheme, const Resolver& resolver,
                            const WeightFormat& plain) {
  if (const WeightFormat* const format = resolver.listed("lm_head")) return *format;
  for (const QuantizedGroup& group : scheme.groups) {
    const bool named = !group.targets.empty() && group.targets.matches("lm_head");
    if (named || (scheme.lm_head && group.all_linear)) return group.format;
  }
  return plain;
}

}  // namespace

void apply_quantization(const QuantizationScheme& scheme, const ModuleNames& names,
                        Transformer& model) {
  const WeightFormat plain = plain_format(model.activation);
  Resolver resolver(scheme, plain);
  const bool apart = tells_layers_apart(scheme);
  std::vector<Module> modules;
  const Mixer* of_modules = nullptr;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    if (const Layer* const like = apart ? nullptr : like_layer(model, i)) {
      layer.mixer_format = like->mixer_format;
      layer.output_format = like->output_format;
      layer.ffn_format = like->ffn_format;
      layer.shared_format = like->shared_format;
      continue;
    }
    if (of_modules == nullptr || *of_modules != layer.mixer) {
      of_modules = &layer.mixer;
      modules =
          std::visit([&](const auto& mixer) { return mixer_modules(mixer, model.hidden, names); },
                     layer.mixer);
    }
    set_mixer_formats(i, modules, resolver, layer);
    set_ffn_formats(i, names, model.hidden, resolver, layer);
    for (ExtraWeight& extra : layer.extra) {
      const std::string name = fmt::format("layers.{}.{}.{}", i, names.attention, extra.name);
      const WeightFormat* const format = extra.multiplies ? resolver.listed(name) : nullptr;
      if (format != nullptr) extra.format = *format;
    }
  }
  model.lm_head_format = lm_head_format(scheme, resolver, plain);
  if (scheme.kv_cache) model.kv_cache_dtype = scheme.kv_cache;
  if (resolver.mixed()) {
    model.notes.push_back(
        "some blocks mix weight formats: shown with the name of the most common one and the "
        "average bits per weight");
  }
}

}  // namespace roofcast
