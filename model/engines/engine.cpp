#include "model/engines/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "model/engines/engine_description.hpp"
#include "model/engines/host_terms.hpp"
#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

[[noreturn]] void throw_unknown_engine(std::string_view name) {
  std::vector<std::string> presets;
  for (const EnginePreset& preset : engine_presets()) presets.push_back(preset.name);
  std::vector<std::string> names = presets;
  names.insert(names.begin(), "vllm");
  if (name.find(',') != std::string_view::npos) {
    throw UsageError(fmt::format(
        "engine '{}': expected one; `roofcast plan --search engine={}` compares several", name,
        name));
  }
  throw UsageError(fmt::format("unknown engine '{}'{}; expected one of: {}", name,
                               did_you_mean(name, names), joined(presets)));
}

/// The longest sequence served. Engines refuse more than the config states, because positions
/// beyond it produce nonsense; the textbook rule only counts bytes and accepts any length.
std::int64_t resolve_max_model_len(const EnginePreset& preset, const EngineOverrides& given,
                                   const Transformer& model) {
  const std::int64_t limit = model.max_context;
  if (!given.max_model_len) {
    if (limit > 0) return limit;
    throw UsageError(fmt::format(
        "{}: the model states no maximum context, expected `max_model_len`", model.name));
  }
  const std::int64_t length = *given.max_model_len;
  if (limit > 0 && length > limit && preset.refuses_longer_than_model) {
    throw UsageError(fmt::format("`max_model_len`: {} given, but {} supports at most {} tokens",
                                 length, model.name, limit));
  }
  return length;
}

/// An engine starts with the formats on its list, and with the model's own, which is its "auto".
void check_cache_dtype(const EnginePreset& preset, const EngineOverrides& given,
                       const Transformer& model) {
  if (!given.kv_cache_dtype || preset.cache_dtypes.empty()) return;
  const DType dtype = *given.kv_cache_dtype;
  if (dtype == model.activation || std::ranges::count(preset.cache_dtypes, dtype) > 0) return;
  std::vector<std::string> names;
  for (const DType one : preset.cache_dtypes) names.emplace_back(name_of(one));
  throw UsageError(
      fmt::format("`kv_cache_dtype`: {} given, but {} has no such cache; expected one of: {}, or "
                  "{} as the model",
                  name_of(dtype), preset.name, joined(names), name_of(model.activation)));
}

/// Without K and V there is no cache whose rules an engine could have; vLLM's batches are known.
void check_encoder(const EnginePreset& preset, const Transformer& model) {
  if (!is_encoder(model) || preset.defaults.memory_rule == MemoryRule::vllm) return;
  throw UsageError(fmt::format(
      "{}: an encoder, which is modelled behind vLLM only, expected `engine` vllm", model.name));
}

/// Whether prompts are divided among ranks is checked by the engines that can.
void check_prompt_ranks(const EnginePreset& preset, const Parallelism& parallel) {
  const MemoryRule rule = preset.defaults.memory_rule;
  if (parallel.context == 1 || rule == MemoryRule::vllm || rule == MemoryRule::sglang) return;
  throw UsageError(
      fmt::format("`prefill_context_parallel_size`: {} given, but {} does not divide prompts among "
                  "ranks, or as is not modelled; expected vllm or sglang",
                  parallel.context, preset.name));
}

/// The preset's name without its version.
std::string family_of(const EnginePreset& preset) {
  return preset.name.substr(0, preset.name.find('-'));
}

/// The version that a name states: "0.19", "nightly"; empty if none, or a year.
std::string stated_in(std::string_view name) {
  const EngineName parts = parse_engine_name(name);
  for (const EngineDescription* engine : engine_descriptions()) {
    if (std::ranges::find(engine->names, parts.engine) == engine->names.end()) continue;
    if (states_version(*engine, parts.version)) return parts.version;
  }
  return {};
}

/// The version in the preset's name, counted as minor_version() does, or the last one that its
/// values are from.
int minor_of(const EnginePreset& preset) {
  return minor_version(parse_engine_name(preset.name).version).value_or(preset.last_compared);
}

/// How much longer an engine's host takes on a Grace CPU than on the x86 hosts that its terms are
/// from: TensorRT-LLM 1.0's saturated Qwen3-30B and Llama-4-Scout on one GB200 beside one B200,
/// carried over to the other engines (an assumption).
constexpr double kGraceSlowdown = 1.65;

/// Not the host's own work: how far ranks drift apart, and the handover, which was found on hosts
/// of both kinds.
constexpr Seconds HostOverhead::*kNotSlowed[] = {&HostOverhead::rank_skew, &HostOverhead::handover};

/// Slower in TensorRT-LLM's Python only; with SGLang first tokens of DeepSeek-R1 come no later on
/// GB200 than on B200 and H200.
constexpr Seconds HostOverhead::*kLaunches[] = {
    &HostOverhead::kernel_launch, &HostOverhead::eager_launch, &HostOverhead::prompt_launch};

void slow_down_on_grace(Engine& engine) {
  const bool launches_too = engine.scheduler == SchedulerKind::tensorrt_llm && !engine.exact_graphs;
  for (Seconds HostOverhead::*const term : host_times()) {
    if (std::ranges::find(kNotSlowed, term) != std::end(kNotSlowed)) continue;
    if (!launches_too && std::ranges::find(kLaunches, term) != std::end(kLaunches)) continue;
    engine.host.*term = engine.host.*term * kGraceSlowdown;
  }
}

Engine resolve(const EngineSetting& setting) {
  const EnginePreset& preset = setting.preset;
  const EngineOverrides& given = setting.given;
  const Transformer& model = setting.model;
  check_overrides(given, preset);
  check_cache_dtype(preset, given, model);
  check_encoder(preset, model);
  check_prompt_ranks(preset, setting.parallel);
  Engine engine = preset.defaults;
  engine.name = preset.name;
  engine.version = preset.name;
  engine.max_model_len = resolve_max_model_len(preset, given, model);
  engine.kv_cache_dtype = model.kv_cache_dtype.value_or(model.activation);
  engine.eager = given.enforce_eager.value_or(false);
  engine.cuda_graphs = !engine.eager && !is_cpu(setting.gpu);
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.apply != nullptr) knob.apply(given, engine);
  }
  preset.resolve(engine, setting);
  if (has_grace_host(setting.gpu) && !preset.host_was_measured) slow_down_on_grace(engine);
  resolve_features(engine, given, model, setting.gpu, setting.parallel);
  return engine;
}

}  // namespace

bool has_grace_host(const Gpu& gpu) { return gpu.host && gpu.host->name == "NVLink-C2C"; }

std::span<const EngineDescription* const> engine_descriptions() {
  static const std::array kEngines{&vllm_description(), &sglang_description(),
                                   &tensorrt_llm_description(), &atom_description(),
                                   &own_description()};
  return kEngines;
}

const EnginePreset* preset_named(const EngineDescription& engine, std::string_view name) {
  const auto found = std::ranges::find(engine.presets, name, &EnginePreset::name);
  return found == engine.presets.end() ? nullptr : &*found;
}

const EnginePreset* preset_of_minor(const EngineDescription& engine, int minor) {
  const auto found = std::ranges::find_if(
      engine.presets, [&](const EnginePreset& preset) { return minor >= preset.first_minor; });
  return found == engine.presets.end() ? nullptr : &*found;
}

void check_weight_formats(const EngineSetting& setting, std::span<const LeastCapability> least) {
  const std::optional<int> capability = cuda_capability(setting.gpu);
  if (!capability) return;
  const auto check = [&](const WeightFormat& format) {
    const auto rule = std::ranges::find(least, format.name, &LeastCapability::format);
    if (rule == least.end() || *capability >= rule->capability) return;
    throw UsageError(
        fmt::format("weights in {}: {} needs compute capability {:.1f} for them, {} has {}",
                    format.name, setting.preset.name, rule->capability / 10.0, setting.gpu.name,
                    setting.gpu.compute_capability));
  };
  for (const Layer& layer : setting.model.layers) {
    check(layer.mixer_format);
    check(output_format_of(layer));
    check(layer.ffn_format);
    check(layer.shared_format);
  }
}

std::vector<std::int64_t> graph_sizes(std::span<const GraphSizes> sizes, std::int64_t largest) {
  std::vector<std::int64_t> all;
  for (const GraphSizes& some : sizes) {
    for (std::int64_t size = some.first; size <= std::min(some.last, largest); size += some.step) {
      all.push_back(size);
    }
  }
  return all;
}

std::optional<std::int64_t> largest_graph_given(const EngineOverrides& given) {
  if (!given.cuda_graph_batch_sizes) return given.cuda_graph_max_bs;
  const std::int64_t largest = std::ranges::max(*given.cuda_graph_batch_sizes);
  if (given.cuda_graph_max_bs.value_or(largest) != largest) {
    throw UsageError(fmt::format(
        "`cuda_graph_max_bs`: {} given, expected {}, the largest of `cuda_graph_batch_sizes`",
        *given.cuda_graph_max_bs, largest));
  }
  return largest;
}

void set_graph_sizes(Engine& engine, const EngineOverrides& given,
                     std::vector<std::int64_t> by_default) {
  if (!engine.cuda_graphs) {
    if (given.cuda_graph_batch_sizes || given.cuda_graph_max_bs || given.cuda_graph_padding) {
      throw UsageError(
          "`cuda_graph_batch_sizes`, `cuda_graph_max_bs` and `cuda_graph_padding`: have no effect "
          "without CUDA graphs");
    }
    return;
  }
  std::vector<std::int64_t> sizes = given.cuda_graph_batch_sizes.value_or(std::move(by_default));
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  engine.graph_batch_sizes = std::move(sizes);
}

bool is_before(const EngineSetting& setting, std::pair<int, int> first) {
  return std::pair(setting.minor, setting.patch.value_or(first.second)) < first;
}

HostOverhead plain_host() {
  return {.source = "vllm-project/vllm issues 42131 and 46112 (schedule, update per request)"};
}

const std::vector<EnginePreset>& engine_presets() {
  static const std::vector<EnginePreset> presets = [] {
    std::vector<EnginePreset> list;
    for (const EngineDescription* engine : engine_descriptions()) {
      list.insert(list.end(), engine->presets.begin(), engine->presets.end());
    }
    return list;
  }();
  return presets;
}

const EnginePreset& find_preset(std::string_view name) {
  const EngineName parts = parse_engine_name(name);
  for (const EngineDescription* engine : engine_descriptions()) {
    if (std::ranges::find(engine->names, parts.engine) == engine->names.end()) continue;
    if (const EnginePreset* preset = preset_meant(*engine, parts)) return *preset;
  }
  throw_unknown_engine(name);
}

Engine resolve_engine(std::string_view preset, const EngineOverrides& overrides,
                      const Transformer& model, const Gpu& gpu, const Parallelism& parallel) {
  const EnginePreset& found = find_preset(preset);
  const std::string version = stated_in(preset);
  const std::optional<int> minor = minor_version(version);
  Engine engine = resolve({.preset = found,
                           .given = overrides,
                           .model = model,
                           .gpu = gpu,
                           .parallel = parallel,
                           .minor = minor.value_or(minor_of(found)),
                           .patch = minor ? patch_version(version) : std::nullopt,
                           .version = minor ? version : std::string()});
  if (!version.empty()) engine.version = family_of(found) + "-" + version;
  return engine;
}

Engine resolve_engine(const EnginePreset& preset, const EngineOverrides& overrides,
                      const Transformer& model, const Gpu& gpu, const Parallelism& parallel) {
  return resolve({.preset = preset,
                  .given = overrides,
                  .model = model,
                  .gpu = gpu,
                  .parallel = parallel,
                  .minor = minor_of(preset),
                  .patch = {},
                  .version = {}});
}

CacheRules cache_rules(const Engine& engine) {
  CacheRules rules{.chunked = engine.chunked_layers};
  rules.window_share = engine.window_share;
  if (!traits_of(engine.scheduler).state_checkpoints) return rules;
  rules.context_ranks = engine.context_ranks;
  rules.compressed = engine.memory.compressed;
  rules.state_rows = (engine.prefix_caching ? 2 : 1) + engine.speculation.draft_tokens;
  return rules;
}

std::int64_t graph_size(const Engine& engine, std::int64_t sequences, std::int64_t tokens_each) {
  return traits_of(engine.scheduler).budgets_decodes ? sequences * tokens_each : sequences;
}

bool graph_holds(const Engine& engine, std::int64_t size) {
  const std::vector<std::int64_t>& sizes = engine.graph_batch_sizes;
  if (!engine.cuda_graphs) return false;
  if (!engine.graph_padding) return std::ranges::binary_search(sizes, size);
  return !sizes.empty() && size <= sizes.back();
}

std::int64_t padded_batch(const Engine& engine, std::int64_t sequences, std::int64_t tokens_each) {
  const std::vector<std::int64_t>& sizes = engine.graph_batch_sizes;
  const std::int64_t size = graph_size(engine, sequences, tokens_each);
  if (!engine.graph_padding || size == 0) return sequences * tokens_each;
  const auto next = std::lower_bound(sizes.begin(), sizes.end(), size);
  // Tokens that a graph's size stands for: it counts tokens, or sequences.
  const std::int64_t tokens_of_one = size == sequences ? tokens_each : 1;
  return (next == sizes.end() ? size : *next) * tokens_of_one;
}

}  // namespace roofcast
