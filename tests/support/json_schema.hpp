// The subset of JSON Schema that base/record.hpp writes: finds where a document violates its
// schema.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace roofcast::test {

namespace schema_detail {

inline bool has_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return false;
}

inline bool has_one_of(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types.get<std::string>());
  return std::any_of(types.begin(), types.end(),
                     [&](const Json& type) { return has_type(value, type.get<std::string>()); });
}

}  // namespace schema_detail

/// One line per violation, with its place ("terms.3.bytes"); an unsupported keyword is a violation
/// too. Supported: type, properties, required, items, anyOf, enum, additionalProperties.
inline std::vector<std::string> schema_violations(const Json& schema, const Json& value,
                                                  const std::string& place = "$") {
  std::vector<std::string> found;
  const auto add = [&](const std::string& what) { found.push_back(place + ": " + what); };
  const auto add_all = [&](const std::vector<std::string>& more) {
    found.insert(found.end(), more.begin(), more.end());
  };
  const auto inside = [&](const std::string& part) { return place + "." + part; };
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema.at("properties") : none;
  for (const auto& [keyword, rule] : schema.items()) {
    constexpr std::array<std::string_view, 3> kWords = {"$schema", "title", "description"};
    if (std::find(kWords.begin(), kWords.end(), keyword) != kWords.end()) continue;
    if (keyword == "type") {
      if (!schema_detail::has_one_of(value, rule)) add("is not of type " + rule.dump());
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) {
        add(value.dump() + " is not one of " + rule.dump());
      }
    } else if (keyword == "anyOf") {
      if (std::none_of(rule.begin(), rule.end(), [&](const Json& one) {
            return schema_violations(one, value, place).empty();
          })) {
        add("matches nothing of anyOf");
      }
    } else if (keyword == "required") {
      for (const Json& key : rule) {
        if (value.is_object() && !value.contains(key.get<std::string>())) {
          add("lacks " + key.get<std::string>());
        }
      }
    } else if (keyword == "items") {
      if (!value.is_array()) continue;
      for (std::size_t i = 0; i < value.size(); ++i) {
        add_all(schema_violations(rule, value[i], inside(std::to_string(i))));
      }
    } else if (keyword == "properties") {
      if (!value.is_object()) continue;
      for (const auto& [key, one] : rule.items()) {
        if (value.contains(key)) add_all(schema_violations(one, value.at(key), inside(key)));
      }
    } else if (keyword == "additionalProperties") {
      if (!value.is_object()) continue;
      for (const auto& [key, one] : value.items()) {
        if (properties.contains(key)) continue;
        if (rule == Json(false)) {
          add("has " + key + ", which is not described");
        } else if (rule.is_object()) {
          add_all(schema_violations(rule, one, inside(key)));
        }
      }
    } else {
      add("keyword " + keyword + " is not understood");
    }
  }
  return found;
}

/// The schema with no keys allowed except those it describes, at any depth.
inline Json closed(Json schema) {
  if (schema.is_object()) {
    for (auto& [key, one] : schema.items()) one = closed(one);
    if (schema.contains("properties") && schema.at("properties").is_object() &&
        !schema.contains("additionalProperties")) {
      schema["additionalProperties"] = false;
    }
  } else if (schema.is_array()) {
    for (Json& one : schema) one = closed(one);
  }
  return schema;
}

}  // namespace roofcast::test
