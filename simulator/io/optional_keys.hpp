// Optional keys of a JSON object: read if present, written if set.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace roofcast {

/// Sets `target` if there is a value.
template <class Target, class Value>
void set(Target& target, const std::optional<Value>& value) {
  if (value) target = static_cast<Target>(*value);
}

/// Writes the value if there is one; a quantity as its number of units.
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
