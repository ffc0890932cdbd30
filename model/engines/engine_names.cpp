// Maps the names that people use for engines and versions to presets.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "model/engines/engine_presets.hpp"

namespace roofcast {
namespace {

/// vLLM before 0.8 ran the V0 engine by default, which has another scheduler and memory profile.
constexpr int kFirstMinorOfVllmV1 = 8;

/// TensorRT-LLM's default backend is PyTorch since 0.19; earlier versions compiled engines.
constexpr int kFirstMinorOfTensorrtPyTorch = 19;

/// Lower case, with no separators except the version's dots: "TensorRT_LLM" -> "tensorrtllm".
std::string normalised(std::string_view name) {
  std::string text = lower(name);
  std::erase_if(text, [](char c) { return c == '-' || c == '_' || c == ' '; });
  return text;
}

/// Engine word and version of a normalised name: "vllm0.19.1" -> {"vllm", "0.19.1"}.
struct NameParts {
  std::string engine;
  std::string version;
};

NameParts split_version(const std::string& text) {
  const auto digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return {text, ""};
  std::string engine = text.substr(0, digit);
  if (!engine.empty() && engine.back() == 'v' && engine != "v") engine.pop_back();
  return {engine, text.substr(digit)};
}

/// The x of "0.x" or "0.x.y"; nullopt if the text is not a version 0.x.
std::optional<int> minor_version(const std::string& version) {
  if (version.rfind("0.", 0) != 0) return std::nullopt;
  return to_number<int>(split(version, '.')[1]);
}

const PresetDefaults* preset_named(std::string_view name) {
  for (const PresetDefaults& preset : preset_table()) {
    if (preset.preset.name == name) return &preset;
  }
  return nullptr;
}

/// The vLLM preset for a version; null if the text is not a version.
const PresetDefaults* vllm_era(const std::string& version) {
  if (version.empty()) return preset_named("vllm-0.19");
  if (version == "2025") return preset_named("vllm-0.11");
  if (version == "2026") return preset_named("vllm-0.29");
  const std::optional<int> minor = minor_version(version);
  if (!minor) return nullptr;
  if (*minor < kFirstMinorOfVllmV1) {
    throw Error(fmt::format(
        "engine 'vllm-{}': versions before 0.{} ran the V0 engine, which is not modelled; the "
        "oldest is vllm-0.11",
        version, kFirstMinorOfVllmV1));
  }
  for (const PresetDefaults& preset : preset_table()) {
    if (preset.memory_rule == MemoryRule::vllm && *minor >= preset.first_minor) return &preset;
  }
  return nullptr;
}

[[noreturn]] void throw_unknown(std::string_view name) {
  std::vector<std::string> names{"vllm"};
  std::string listed;
  for (const PresetDefaults& preset : preset_table()) {
    names.push_back(preset.preset.name);
    listed += (listed.empty() ? "" : ", ") + preset.preset.name;
  }
  throw Error(fmt::format("unknown engine '{}'{}; expected one of: {}", name,
                          did_you_mean(name, names), listed));
}

}  // namespace

const PresetDefaults& find_preset(std::string_view name) {
  const NameParts parts = split_version(normalised(name));
  const PresetDefaults* found = nullptr;
  if (parts.engine == "vllm") {
    found = vllm_era(parts.version);
  } else if (parts.engine == "sglang" || parts.engine == "sgl") {
    found = preset_named("sglang");
  } else if (parts.engine == "trtllm" || parts.engine == "tensorrtllm") {
    const int minor = minor_version(parts.version).value_or(kFirstMinorOfTensorrtPyTorch);
    found = preset_named(minor < kFirstMinorOfTensorrtPyTorch ? "trtllm-0.18" : "trtllm");
  } else if (parts.version.empty()) {
    found = preset_named(parts.engine);  // roofcast, textbook, static, naive
  }
  if (found == nullptr) throw_unknown(name);
  return *found;
}

}  // namespace roofcast
