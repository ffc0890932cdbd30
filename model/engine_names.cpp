// Which era a name means, as people spell engines and their versions.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "model/engine_eras.hpp"
#include "model/error.hpp"
#include "model/suggest.hpp"

namespace roofcast {
namespace {

/// vLLM versions before 0.8 ran the V0 engine by default, which has another scheduler and another
/// memory profile.
constexpr int kFirstMinorOfVllmV1 = 8;

/// From TensorRT-LLM 0.19 on, PyTorch is the default backend; before, engines were built.
constexpr int kFirstMinorOfTensorrtPyTorch = 19;

/// Lower case without separators other than the version's dots: "TensorRT_LLM" -> "tensorrtllm".
std::string normalised(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
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

/// The x of "0.x" or "0.x.y"; nothing when the text is not a version 0.x.
std::optional<int> minor_version(const std::string& version) {
  if (version.rfind("0.", 0) != 0) return std::nullopt;
  int minor = 0;
  const char* end = version.data() + version.size();
  const auto [rest, failed] = std::from_chars(version.data() + 2, end, minor);
  if (failed != std::errc{} || (rest != end && *rest != '.')) return std::nullopt;
  return minor;
}

const EraDefaults* era_named(std::string_view name) {
  for (const EraDefaults& era : era_table()) {
    if (era.era.name == name) return &era;
  }
  return nullptr;
}

/// The vLLM era of a version text; null when the text is not a version.
const EraDefaults* vllm_era(const std::string& version) {
  if (version.empty()) return era_named("vllm-0.19");
  if (version == "2025") return era_named("vllm-0.11");
  if (version == "2026") return era_named("vllm-0.29");
  const std::optional<int> minor = minor_version(version);
  if (!minor) return nullptr;
  if (*minor < kFirstMinorOfVllmV1) {
    throw Error(fmt::format(
        "engine 'vllm-{}': versions before 0.{} ran the V0 engine, which is not modelled; the "
        "oldest is vllm-0.11",
        version, kFirstMinorOfVllmV1));
  }
  for (const EraDefaults& era : era_table()) {
    if (era.memory_rule == MemoryRule::vllm && *minor >= era.first_minor) return &era;
  }
  return nullptr;
}

[[noreturn]] void throw_unknown(std::string_view name) {
  std::vector<std::string> names{"vllm"};
  std::string listed;
  for (const EraDefaults& era : era_table()) {
    names.push_back(era.era.name);
    listed += (listed.empty() ? "" : ", ") + era.era.name;
  }
  throw Error(fmt::format("unknown engine '{}'{}; expected one of: {}", name,
                          did_you_mean(name, names), listed));
}

}  // namespace

const EraDefaults& find_era(std::string_view name) {
  const NameParts parts = split_version(normalised(name));
  const EraDefaults* found = nullptr;
  if (parts.engine == "vllm") {
    found = vllm_era(parts.version);
  } else if (parts.engine == "sglang" || parts.engine == "sgl") {
    found = era_named("sglang");
  } else if (parts.engine == "trtllm" || parts.engine == "tensorrtllm") {
    const int minor = minor_version(parts.version).value_or(kFirstMinorOfTensorrtPyTorch);
    found = era_named(minor < kFirstMinorOfTensorrtPyTorch ? "trtllm-0.18" : "trtllm");
  } else if (parts.version.empty()) {
    found = era_named(parts.engine);  // roofcast, textbook, static, naive
  }
  if (found == nullptr) throw_unknown(name);
  return *found;
}

}  // namespace roofcast
