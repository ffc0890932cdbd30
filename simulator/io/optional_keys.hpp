// Keys that may be left out of a JSON object: taken over where they stand, written where they are
// set.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace roofcast {

/// Sets `target` when there is a value.
template <class Target, class Value>
void set(Target& target, const std::optional<Value>& value) {
  if (value) target = static_cast<Target>(*value);
}

/// Writes the value, of a quantity its number of units, when there is one.
template <class Value>
void put(nlohmann::ordered_json& json, const char* key, const std::optional<Value>& value) {
  if (!value) return;
  if constexpr (requires { value->value; }) {
    json[key] = value->value;
  } else {
    json[key] = *value;
  }
}

}  // namespace roofcast
