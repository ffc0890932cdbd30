#include "simulator/io/engine_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.hpp"
#include "base/text.hpp"
#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

// ---- reading

/// Describes a number of this range in messages.
std::string expected_number(const KnobRange& range) {
  if (std::isinf(range.max)) {
    return fmt::format("a number {} {:g}", range.min_open ? "above" : "of at least", range.min);
  }
  if (range.min_open) return fmt::format("a number above {:g}, up to {:g}", range.min, range.max);
  return fmt::format("a number from {:g} to {}{:g}", range.min, range.max_open ? "below " : "",
                     range.max);
}

bool is_in(const KnobRange& range, const nlohmann::json& value) {
  return value.is_number() && contains(range, value.get<double>());
}

KnobValue read_count(const EngineKnob& knob, const JsonObject& object) {
  return *object.integer(knob.key, static_cast<std::int64_t>(knob.range.min),
                         static_cast<std::int64_t>(knob.range.max));
}

KnobValue read_number(const EngineKnob& knob, const JsonObject& object,
                      const nlohmann::json& value) {
  if (!is_in(knob.range, value)) object.fail(knob.key, expected_number(knob.range));
  return value.get<double>();
}

KnobValue read_shares(const EngineKnob& knob, const JsonObject& object,
                      const nlohmann::json& value) {
  const auto is_share = [&](const nlohmann::json& one) { return is_in(knob.range, one); };
  if (!value.is_array() || !std::ranges::all_of(value, is_share)) {
    object.fail(knob.key, "an array of numbers from 0 to 1");
  }
  return value.get<std::vector<double>>();
}

KnobValue read_counts(const EngineKnob& knob, const JsonObject& object,
                      const nlohmann::json& value) {
  const auto is_count = [&knob](const nlohmann::json& one) {
    return one.is_number_integer() && contains(knob.range, one.get<double>());
  };
  if (!value.is_array() || value.empty() || !std::ranges::all_of(value, is_count)) {
    object.fail(knob.key, "an array of whole numbers of at least 1");
  }
  return value.get<std::vector<std::int64_t>>();
}

/// Converts `value`, found under the knob's key. Names are validated when the knob is set.
KnobValue read_value(const EngineKnob& knob, const JsonObject& object,
                     const nlohmann::json& value) {
  switch (knob.kind) {
    case KnobKind::length:
      if (value == "auto") return "auto";
      [[fallthrough]];
    case KnobKind::count:
      return read_count(knob, object);
    case KnobKind::on_off:
      return *object.boolean(knob.key);
    case KnobKind::choice:
      return *object.text(knob.key);
    case KnobKind::shares:
      return read_shares(knob, object, value);
    case KnobKind::counts:
      return read_counts(knob, object, value);
    default:
      return read_number(knob, object, value);
  }
}

// ---- the schema

/// Writes whole numbers without a decimal point.
Json number_json(double number) {
  if (std::floor(number) == number && std::abs(number) < 1e15) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

Json range_schema(const char* type, const KnobRange& range) {
  Json json = {{"type", type}};
  json[range.min_open ? "exclusiveMinimum" : "minimum"] = number_json(range.min);
  if (std::isfinite(range.max)) {
    json[range.max_open ? "exclusiveMaximum" : "maximum"] = number_json(range.max);
  }
  return json;
}

Json value_schema(const EngineKnob& knob) {
  switch (knob.kind) {
    case KnobKind::length:
      return {{"oneOf", {range_schema("integer", knob.range), {{"const", "auto"}}}}};
    case KnobKind::count:
      return range_schema("integer", knob.range);
    case KnobKind::on_off:
      return {{"type", "boolean"}};
    case KnobKind::choice:
      if (knob.choice.takes_other_names) return {{"type", "string"}};
      return {{"enum", knob.choice.names}};
    case KnobKind::shares:
      return {{"type", "array"}, {"items", range_schema("number", knob.range)}};
    case KnobKind::counts:
      return {{"type", "array"}, {"items", range_schema("integer", knob.range)}, {"minItems", 1}};
    default:
      return range_schema("number", knob.range);
  }
}

Json json_of(const KnobValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

/// Writes large round numbers without a decimal point.
Json example_json(const KnobValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? json_of(value) : number_json(*number);
}

}  // namespace

std::span<const char* const> engine_option_keys() {
  static const std::vector<const char*> keys = [] {
    std::vector<const char*> list;
    for (const EngineKnob& knob : engine_knobs()) list.push_back(knob.key);
    return list;
  }();
  return keys;
}

EngineOverrides read_engine_options(const JsonObject& object) {
  EngineOverrides options;
  for (const EngineKnob& knob : engine_knobs()) {
    const nlohmann::json* value = object.find(knob.key);
    if (value == nullptr || knob.set(options, read_value(knob, object, *value))) continue;
    const std::string names = alternatives(knob.choice.names);
    object.fail(knob.key, knob.choice.takes_other_names
                              ? fmt::format("a {} such as {}", knob.choice.noun, names)
                              : names);
  }
  return options;
}

Json engine_options_json(const EngineOverrides& options) {
  Json json = Json::object();
  for (const EngineKnob& knob : engine_knobs()) {
    if (const auto value = knob.get(options)) json[knob.key] = json_of(*value);
  }
  return json;
}

Json engine_options_schema() {
  Json partners = Json::object();
  Json properties = Json::object();
  for (const EngineKnob& knob : engine_knobs()) {
    if (const EngineKnob* partner = find_knob_by_flag(knob.partner)) {
      partners[knob.key] = Json::array({partner->key});
    }
    Json& property = properties[knob.key];
    property["description"] = knob.effect;
    property.update(value_schema(knob));
    for (const KnobValue& example : knob.examples) {
      property["examples"].push_back(example_json(example));
    }
  }
  return {{"description",
           "Engine knobs, spelled as in vLLM. Missing ones follow the engine's version, the model "
           "and the GPU."},
          {"type", "object"},
          {"additionalProperties", false},
          {"dependentRequired", partners},
          {"properties", properties}};
}

}  // namespace roofcast
