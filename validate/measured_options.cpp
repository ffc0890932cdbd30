#include "validate/measured_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "model/architecture/dtype.hpp"
#include "model/engines/knobs.hpp"
#include "validate/server_arguments.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

/// Text in lower case, for case-insensitive comparison: Python's True, JSON's true.
std::string word_of(const json& value) {
  return lower(value.is_string() ? value.get<std::string>() : value.dump());
}

bool is_unset(const json& value) {
  const std::string word = word_of(value);
  return word.empty() || word == "none" || word == "null" || word == "auto" || word == "nan";
}

[[noreturn]] void fail(std::string_view key, const json& value, std::string_view expected) {
  throw Error(fmt::format("{}: '{}' is not {}", key, shown(word_of(value), 40), expected));
}

json whole_in(const EngineKnob& knob, const json& value) {
  constexpr double kMax = 1e15;
  const auto number = number_in(value);
  const double min = std::max(1.0, knob.range.min);
  const bool whole = number && *number >= min && *number <= kMax && *number == std::floor(*number);
  if (!whole) fail(knob.key, value, fmt::format("a whole number of at least {:g}", min));
  return static_cast<std::int64_t>(*number);
}

json number_within(const EngineKnob& knob, const json& value) {
  const auto number = number_in(value);
  if (number && contains(knob.range, *number)) return *number;
  fail(knob.key, value,
       knob.kind == KnobKind::share ? "a share above 0 and up to 1" : "a number in its range");
}

json choice_in(const EngineKnob& knob, const json& value) {
  const std::string word = word_of(value);
  if (std::string_view(knob.key) != "kv_cache_dtype") return word;
  // fp8_e4m3, fp8_inc and fp8_ds_mla are other layouts of fp8.
  const auto dtype = word.starts_with("fp8") ? DType::fp8 : parse_dtype(word);
  if (!dtype) fail(knob.key, value, "a supported KV cache format (bfloat16, fp8)");
  return std::string(name_of(*dtype));
}

/// As a scenario has it; lists are as scenarios write them.
json option_in(const EngineKnob& knob, const json& value) {
  switch (knob.kind) {
    case KnobKind::count:
    case KnobKind::length:
      return whole_in(knob, value);
    case KnobKind::share:
    case KnobKind::number:
    case KnobKind::bytes:
    case KnobKind::bandwidth:
    case KnobKind::time:
      return number_within(knob, value);
    case KnobKind::on_off:
      return *switch_in(knob.key, value);
    case KnobKind::choice:
      return choice_in(knob, value);
    case KnobKind::shares:
    case KnobKind::counts:
      return value;
  }
  return value;
}

}  // namespace

std::optional<bool> switch_in(const std::string& key, const json& value) {
  if (is_unset(value)) return std::nullopt;
  const std::string word = word_of(value);
  if (word == "true" || word == "1" || word == "1.0" || word == "on" || word == "yes") return true;
  if (word == "false" || word == "0" || word == "0.0" || word == "off" || word == "no") {
    return false;
  }
  fail(key, value, "true or false");
}

json value_of(const MeasuredSetting& setting, const std::string& key) {
  const auto found = setting.other.find(key);
  return found == setting.other.end() ? json() : json::parse(found->second, nullptr, false);
}

json engine_options_of(const MeasuredSetting& setting) {
  json options = server_options_of(setting);
  for (const EngineKnob& knob : engine_knobs()) {
    const auto found = setting.other.find(knob.key);
    if (found == setting.other.end()) continue;
    const json value = json::parse(found->second, nullptr, false);
    if (!value.is_discarded() && !is_unset(value)) options[knob.key] = option_in(knob, value);
  }
  return options;
}

std::vector<std::string> engine_option_names() {
  std::vector<std::string> names;
  for (const EngineKnob& knob : engine_knobs()) names.emplace_back(knob.key);
  return names;
}

bool is_engine_option(std::string_view key) {
  return is_server_argument(key) || find_knob_by_key(key) != nullptr;
}

}  // namespace roofcast
