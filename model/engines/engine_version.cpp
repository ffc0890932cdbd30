#include "model/engines/engine_version.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/dotted_version.hpp"
#include "base/text.hpp"
#include "model/engines/engine_description.hpp"

namespace roofcast {
namespace {

constexpr int kMinorsOfMajor = 100;  // as versions are counted: 1.x is 100 + x

/// The number that a part of a version begins with: 3 of "3rc1".
std::optional<int> leading_number(std::string_view part) {
  const DottedVersion numbers = version_of(part.substr(0, part.find_first_not_of("0123456789")));
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

/// The description with one of these names; null if there is none.
const EngineDescription* description_of(const EngineName& name) {
  const auto engines = engine_descriptions();
  const auto found = std::ranges::find_if(engines, [&](const EngineDescription* engine) {
    return std::ranges::find(engine->names, name.engine) != engine->names.end();
  });
  return found == engines.end() ? nullptr : *found;
}

bool is_year(const EngineDescription& engine, std::string_view version) {
  return std::ranges::find(engine.years, version, &EngineYear::year) != engine.years.end();
}

/// "0.5", "1.3"
std::string version_text(int counted) {
  return fmt::format("{}.{}", counted / kMinorsOfMajor, counted % kMinorsOfMajor);
}

/// Whether a preset's values are from this version, or from the newest that it may be.
bool is_compared(const EngineDescription& engine, const EnginePreset& preset,
                 const std::string& version) {
  if (preset.last_compared == 0 || version.empty() || is_year(engine, version)) return true;
  const std::optional<int> minor = minor_version(version);
  if (!minor) return false;  // a nightly
  if (version.find('.') == std::string::npos) {
    return *minor / kMinorsOfMajor == preset.last_compared / kMinorsOfMajor;
  }
  if (*minor < preset.first_compared || *minor > preset.last_compared) return false;
  const std::optional<int> patch = patch_version(version);
  const bool newest = *minor == engine.presets.front().last_compared;
  return !newest || !engine.last_patch || patch.value_or(0) <= *engine.last_patch;
}

/// What a preset's values are from: "versions 0.27 to 0.29".
std::string compared_versions(const EngineDescription& engine, const EnginePreset& preset) {
  std::string text = preset.first_compared == preset.last_compared
                         ? "version " + version_text(preset.last_compared)
                         : fmt::format("versions {} to {}", version_text(preset.first_compared),
                                       version_text(preset.last_compared));
  if (&preset == &engine.presets.front() && engine.last_patch) {
    text += fmt::format(", up to {}.{}", version_text(preset.last_compared), *engine.last_patch);
  }
  return text;
}

}  // namespace

EngineName parse_engine_name(std::string_view name) {
  std::string text = lower(name);
  std::erase_if(text, [](char c) { return c == '-' || c == '_' || c == ' '; });
  const auto digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) {
    const bool nightly = text.ends_with(kNightly) && text.size() > kNightly.size();
    if (!nightly) return {.engine = text};
    return {.engine = text.substr(0, text.size() - kNightly.size()),
            .version = std::string(kNightly)};
  }
  std::string engine = text.substr(0, digit);
  if (engine.size() > 1 && engine.back() == 'v') engine.pop_back();  // "vllm-v0.19"
  return {.engine = engine, .version = text.substr(digit)};
}

std::optional<int> minor_version(const std::string& version) {
  const std::vector<std::string_view> parts = split(version, '.');
  const std::optional<int> major = leading_number(parts[0]);
  constexpr int kLargestMajor = 10'000;  // years too
  if (!major) return std::nullopt;
  const int first = std::min(*major, kLargestMajor) * kMinorsOfMajor;
  if (parts.size() < 2) return first + kMinorsOfMajor - 1;
  const std::optional<int> minor = leading_number(parts[1]);
  if (!minor) return std::nullopt;
  return first + std::min(*minor, kMinorsOfMajor - 1);
}

std::optional<int> patch_version(const std::string& version) {
  const std::vector<std::string_view> parts = split(version, '.');
  return parts.size() < 3 ? std::nullopt : leading_number(parts[2]);
}

const EnginePreset* preset_meant(const EngineDescription& engine, const EngineName& name) {
  if (name.version == kNightly) return &engine.presets.front();
  const auto year = std::ranges::find(engine.years, name.version, &EngineYear::year);
  if (year != engine.years.end()) return preset_named(engine, year->preset);
  return engine.find(engine, name);
}

bool states_version(const EngineDescription& engine, const std::string& version) {
  return !version.empty() && !is_year(engine, version);
}

std::optional<std::string> uncompared_version(std::string_view name) {
  const EngineName parts = parse_engine_name(name);
  const EnginePreset& preset = find_preset(name);
  const EngineDescription& engine = *description_of(parts);
  if (is_compared(engine, preset, parts.version)) return std::nullopt;
  return fmt::format("{} is answered as {}, whose values are from {}", name, preset.name,
                     compared_versions(engine, preset));
}

bool is_compared_version(std::string_view engine) {
  const EngineName parts = parse_engine_name(engine);
  const EngineDescription* description = description_of(parts);
  if (description == nullptr || parts.version.empty()) return true;
  const EnginePreset* preset = preset_meant(*description, parts);
  return preset == nullptr || is_compared(*description, *preset, parts.version);
}

std::string newest_version(std::string_view engine) {
  const EngineName parts = parse_engine_name(engine);
  const EngineDescription* description = description_of(parts);
  if (description == nullptr || parts.version.empty()) return std::string(engine);
  return description->presets.front().name;
}

std::string engine_title(std::string_view name, std::string_view version) {
  const auto& presets = engine_presets();
  const bool of_preset =
      std::ranges::find(presets, name, &EnginePreset::name) != presets.end() && !version.empty();
  return std::string(of_preset ? version : name);
}

std::string engine_title(const Engine& engine) { return engine_title(engine.name, engine.version); }

}  // namespace roofcast
