#include "planner/flags/engine_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "planner/flags/flag_values.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "planner/scenario/speculative_config.hpp"

namespace roofcast {
namespace {

// ---- model, GPUs, engine

int parse_degree(const std::string& text, const std::string& flag) {
  const CountRule rule{.what = "number of GPUs", .examples = "1, 8", .min = 1, .max = kMaxDegree};
  return static_cast<int>(parse_count_by(rule, text, flag));
}

/// "auto" leaves the weights as the checkpoint has them.
std::optional<std::string> parse_weight_dtype(const std::string& text, const std::string&) {
  if (text == "auto") return std::nullopt;
  return text;
}

auto into_degree(std::optional<int> ParallelismOptions::*degree) {
  return [degree](DeploymentOptions& target, const std::string& text, const std::string& flag) {
    target.parallel.*degree = parse_degree(text, flag);
  };
}

// ---- knobs

/// Placeholder of the value in help: "N".
std::string_view placeholder_of(const EngineKnob& knob) {
  switch (knob.kind) {
    case KnobKind::count:
    case KnobKind::length:
      return "N";
    case KnobKind::share:
      return "SHARE";
    case KnobKind::number:
      return "X";
    case KnobKind::bytes:
    case KnobKind::bandwidth:
      return "BYTES";
    case KnobKind::time:
      return "TIME";
    case KnobKind::on_off:
      return "[=off]";
    case KnobKind::choice:
      return knob.choice.placeholder;
    case KnobKind::shares:
      return "A1,A2,...";
    case KnobKind::counts:
      return "N1,N2,...";
  }
  return "";
}

/// "A,B" or "[A, B]", each value read by `parse`.
template <class Parse>
auto parse_list(const std::string& text, const std::string& flag, Parse parse) {
  const auto refuse = [&](const char* why) {
    throw UsageError(
        fmt::format("{}: '{}' {}, expected A,B,... or [A,B,...]", flag, shown(text), why));
  };
  std::string_view list = trimmed(text);
  const bool opens = list.starts_with('[');
  const bool closes = list.ends_with(']');
  if (opens && !closes) refuse("has a bracket that is not closed");
  if (closes && !opens) refuse("has a bracket that is not opened");
  if (opens) list = list.substr(1, list.size() - 2);
  if (list.find_first_of("[]") != std::string_view::npos) refuse("has a list within a list");
  if (trimmed(list).empty()) refuse("is an empty list");
  std::vector<decltype(parse(text, flag))> values;
  for (const std::string_view one : split(list, ',')) {
    const std::string value(trimmed(one));
    if (value.empty()) refuse("has an empty value");
    values.push_back(parse(value, flag));
  }
  return values;
}

/// For a choice, its name unchanged.
KnobValue parse_value(KnobKind kind, const std::string& text, const std::string& flag) {
  switch (kind) {
    case KnobKind::length:
      if (text == "auto" || text == "-1") return "auto";  // vLLM also accepts -1
      [[fallthrough]];
    case KnobKind::count:
      return parse_count(text, flag);
    case KnobKind::share:
      return parse_share(text, flag);
    case KnobKind::number:  // 0 only where its range holds it
      if (const auto given = to_number<double>(text); given && *given == 0) return 0.0;
      return parse_positive_number(text, flag);
    case KnobKind::bytes:
    case KnobKind::bandwidth:
      return parse_bytes(text, flag).value;
    case KnobKind::time:
      return parse_time(text, flag).value;
    case KnobKind::on_off:
      return parse_switch(text, flag);
    case KnobKind::choice:
      return text;
    case KnobKind::shares:
      return parse_list(text, flag, parse_share);
    case KnobKind::counts:
      return parse_list(text, flag, parse_count);
  }
  return text;
}

/// The readers of counts and numbers know 0 and 1 as least values; a knob has a range of its own.
void refuse_below(const EngineKnob& knob, const std::string& text, const std::string& flag) {
  if (knob.kind != KnobKind::count && knob.kind != KnobKind::number) return;
  const auto given = to_number<double>(text);
  if (!given || *given >= 0 || contains(knob.range, *given)) return;
  throw UsageError(fmt::format("{}: {} given, expected {}", flag, text, range_text(knob)));
}

Flag<EngineOverrides> flag_of(const EngineKnob& knob) {
  return {.name = knob.flag,
          .placeholder = placeholder_of(knob),
          .help = knob.help,
          .read = [&knob](EngineOverrides& target, const std::string& text,
                          const std::string& flag) { read_knob(target, knob, text, flag); },
          .form = knob.kind == KnobKind::on_off ? FlagForm::on_off : FlagForm::value,
          .aliases = knob.aliases};
}

// ---- other engines' flags that set several knobs, or the opposite of one

/// SGLang's chunked_prefill_size, where -1 turns chunked prefill off.
void read_chunk_size(EngineOverrides& knobs, const std::string& text, const std::string& flag) {
  knobs.enable_chunked_prefill = text != "-1";
  if (text != "-1") knobs.max_num_batched_tokens = parse_count(text, flag);
}

/// "eagle:3:0.7": method, draft tokens, acceptance of each, which may be left out.
void read_drafts(EngineOverrides& knobs, const std::vector<std::string_view>& parts,
                 const std::string& flag) {
  constexpr std::array kFlags{"speculative-method", "num-speculative-tokens", "acceptance-rate"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    read_knob(knobs, *find_knob_by_flag(kFlags[i]), std::string(parts[i]),
              fmt::format("{} ({})", flag, kFlags[i]));
  }
}

/// vLLM's --speculative-config: reads method and number of tokens; ignores the draft model's own
/// settings, as acceptance and time have flags of their own. Also METHOD:DRAFTS:RATE in one word.
void read_speculative_config(EngineOverrides& knobs, const std::string& text,
                             const std::string& flag) {
  if (text.find('{') == std::string::npos) {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() == 2 || parts.size() == 3) return read_drafts(knobs, parts, flag);
    throw UsageError(
        fmt::format("{}: '{}' is neither METHOD:DRAFTS:RATE such as eagle:3:0.7 nor JSON such as "
                    "{{\"method\": \"eagle\", \"num_speculative_tokens\": 3}}",
                    flag, shown(text)));
  }
  const SpeculativeConfig config = parse_speculative_config(text, flag);
  if (!config.num_speculative_tokens) {
    throw UsageError(flag + ": \"num_speculative_tokens\" is missing, expected a whole number");
  }
  if (config.method.empty() && config.model.empty()) {
    throw UsageError(flag + ": \"method\" is missing, expected one, or a model");
  }
  knobs.num_speculative_tokens = config.num_speculative_tokens;
  knobs.speculative_method = config.modelled();
  if (!knobs.speculative_method) {  // for the list of those that are
    read_knob(knobs, *find_knob_by_flag("speculative-method"), config.method, flag + " method");
  }
}

Flags<EngineOverrides> other_flags(KnobGroup group) {
  using O = EngineOverrides;
  if (group == KnobGroup::scheduler) {
    return {{.name = "chunked-prefill-size",
             .placeholder = "N",
             .help = "SGLang: tokens per chunk; -1: no chunking",
             .read = read_chunk_size,
             .place = "engine_options.max_num_batched_tokens"},
            {.name = "disable-radix-cache",
             .help = "SGLang: disables prefix caching",
             .read = set_to(&O::enable_prefix_caching, false),
             .form = FlagForm::toggle},
            {.name = "disable-overlap-schedule",
             .help = "SGLang: no overlap of host work with the GPU",
             .read = set_to(&O::async_scheduling, false),
             .form = FlagForm::toggle}};
  }
  if (group == KnobGroup::features) {
    return {{.name = "speculative-config",
             .placeholder = "CONFIG",
             .help = "METHOD:DRAFTS:RATE such as eagle:3:0.7, or vLLM's JSON, of which method and "
                     "num_speculative_tokens are used",
             .read = read_speculative_config}};
  }
  return {};
}

Flags<EngineOverrides> flags_of(KnobGroup group) {
  Flags<EngineOverrides> flags;
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.group == group) flags.push_back(flag_of(knob));
  }
  for (auto& other : other_flags(group)) flags.push_back(std::move(other));
  return flags;
}

/// "vllm-0.11 0.15 0.19 (default) ..., sglang, ...": oldest first, an engine's versions together.
std::string preset_list() {
  const auto engine_of = [](const std::string& name) { return name.substr(0, name.find('-')); };
  std::vector<std::string> names;
  for (const EnginePreset& preset : engine_presets()) names.push_back(preset.name);
  std::vector<std::string> list;
  for (auto first = names.begin(); first != names.end();) {
    const auto last = std::find_if(first, names.end(), [&](const std::string& name) {
      return engine_of(name) != engine_of(*first);
    });
    std::sort(first, last);
    const std::size_t skipped = engine_of(*first).size() + 1;
    std::string versions;
    for (auto name = first; name != last; ++name) {
      versions += name == first ? *name : " " + name->substr(skipped);
      if (*name == kDefaultEngine) versions += " (default)";
    }
    list.push_back(std::move(versions));
    first = last;
  }
  return joined(list);
}

}  // namespace

const Flags<DeploymentOptions>& machine_flags() {
  using D = DeploymentOptions;
  using P = ParallelismOptions;
  static const Flags<D> flags = {
      {.name = "model",
       .placeholder = "NAME|PATH",
       .help = "catalogue name, model folder, config.json or .gguf",
       .read = into(&D::model, parse_text),
       .place = "model"},
      {.name = "gpu",
       .placeholder = "NAME|FILE",
       .help = "GPU in any usual spelling",
       .read = into(&D::gpu, parse_text),
       .place = "gpu"},
      {.name = "quantization",
       .placeholder = "FORMAT",
       .help = "weights as fp8, int8, awq, ... (default: as the checkpoint)",
       .read = into(&D::weight_format, parse_text),
       .place = "quantization",
       .aliases = {"-q", "--quantisation"}},
      {.name = "dtype",
       .placeholder = "DTYPE",
       .help = "weights as bf16, fp16, fp32, auto (default: the checkpoint's)",
       .read = into(&D::weight_format, parse_weight_dtype),
       .place = "quantization"},
      {.name = "tensor-parallel-size",
       .placeholder = "N",
       .help = "TP, also --tp (default 1)",
       .read = into_degree(&P::tensor),
       .place = "parallel.tensor",
       .aliases = {"-tp", "--tp", "--tp-size"}},
      {.name = "pipeline-parallel-size",
       .placeholder = "N",
       .help = "PP, also --pp (default 1)",
       .read = into_degree(&P::pipeline),
       .place = "parallel.pipeline",
       .aliases = {"-pp", "--pp", "--pp-size"}},
      {.name = "data-parallel-size",
       .placeholder = "N",
       .help = "DP, also --dp (default 1)",
       .read = into_degree(&P::data),
       .place = "parallel.data",
       .aliases = {"-dp", "--dp", "--dp-size"}},
      {.name = "prefill-context-parallel-size",
       .placeholder = "N",
       .help = "ranks that divide each prompt's tokens, also --pcp (default 1)",
       .read = into_degree(&P::context),
       .place = "parallel.context",
       .aliases = {"-pcp", "--pcp", "--attn-cp-size"}},
      {.name = "enable-expert-parallel",
       .placeholder = "[=off]",
       .help = "shard experts over TP x PCP x DP ranks, also --ep",
       .read =
           [](D& target, const std::string& text, const std::string& flag) {
             target.parallel.expert_parallel = parse_switch(text, flag);
           },
       .form = FlagForm::on_off,
       .place = "parallel.expert",
       .aliases = {"--ep"}}};
  return flags;
}

const Flags<DeploymentOptions>& engine_choice_flags() {
  static const std::string help = preset_list();
  static const Flags<DeploymentOptions> flags = {
      {.name = "engine",
       .placeholder = "PRESET|FILE",
       .help = help,
       .read = into(&DeploymentOptions::engine, parse_text),
       .place = "engine"}};
  return flags;
}

const Flags<EngineOverrides>& knob_flags(KnobGroup group) {
  static const Flags<EngineOverrides> memory = flags_of(KnobGroup::memory_and_batch);
  static const Flags<EngineOverrides> scheduler = flags_of(KnobGroup::scheduler);
  static const Flags<EngineOverrides> features = flags_of(KnobGroup::features);
  if (group == KnobGroup::memory_and_batch) return memory;
  return group == KnobGroup::scheduler ? scheduler : features;
}

void read_knob(EngineOverrides& overrides, const EngineKnob& knob, const std::string& text,
               const std::string& flag) {
  const KnobChoice& choice = knob.choice;
  if (choice.auto_unsets && text == "auto") return;
  refuse_below(knob, text, flag);
  if (knob.set(overrides, parse_value(knob.kind, text, flag))) return;
  throw UsageError(fmt::format("{}: '{}' is not a {} ({}{})", flag, text, choice.noun,
                               choice.auto_unsets ? "auto, " : "", alternatives(choice.names)));
}

}  // namespace roofcast
