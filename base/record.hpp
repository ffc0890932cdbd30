// A record is a struct whose members are listed once, by a function `members` next to it:
//
//   struct Term { std::string name; Bytes bytes; std::optional<double> share; };
//   template <class Visitor>
//   void members(Visitor& visit, Term& term) {
//     visit("name", term.name, "part of the memory, as weights.attention");
//     visit("bytes", term.bytes, "on one GPU");
//     visit("share", term.share, "of the GPU's memory; null where it is not known");
//   }
//
// Its JSON (record_to_json), the way back (record_from_json) and its JSON Schema (record_schema,
// draft 2020-12) are all made from that list. A member may be a bool, a whole number, a double, a
// string, a Quantity (written as its SI value, so the key names the unit), an optional (null when
// unset), a vector, a map from strings (a vector of pairs with the string first is an object that
// keeps their order), a record, Json itself, or a shared_ptr to const Json for headers that do not
// include it. `visit.if_set` lists an optional whose key is omitted when it is unset.
// `visit.part_if_set` lists an optional record whose members are flattened into the enclosing
// record, all or none. `members(visit, outer.inner)` flattens a record that is always present.
//
// Slow to compile, like all of nlohmann/json: include it in sources, not in headers.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/units.hpp"

namespace roofcast {

namespace record_detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsTextMap : std::false_type {};
template <class T>
struct IsTextMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsTextPairs : std::false_type {};
template <class T>
struct IsTextPairs<std::vector<std::pair<std::string, T>>> : std::true_type {};
template <class T>
struct IsQuantity : std::false_type {};
template <class Tag>
struct IsQuantity<Quantity<Tag>> : std::true_type {};

using SharedJson = std::shared_ptr<const Json>;

}  // namespace record_detail

/// How the enumerators of `Enum` are written: specialise it with a `static constexpr` array or
/// vector `values` of pairs {enumerator, text}.
template <class Enum>
struct EnumNames;

/// Such pairs for an enumeration whose texts a function `name_of` returns.
template <class Enum, class... More>
std::array<std::pair<Enum, std::string_view>, 1 + sizeof...(More)> names_of(Enum first,
                                                                            More... more) {
  return {{{first, name_of(first)}, {more, name_of(more)}...}};
}

template <class Enum>
std::string_view enum_name(Enum value) {
  for (const auto& [one, name] : EnumNames<Enum>::values) {
    if (one == value) return name;
  }
  return {};
}

// ---- to JSON

template <class T>
Json record_to_json(const T& record);

template <class T>
Json value_to_json(const T& value) {
  using namespace record_detail;
  if constexpr (std::same_as<T, Json> || std::same_as<T, bool> || std::integral<T> ||
                std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::floating_point<T>) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(enum_name(value));
  } else if constexpr (IsQuantity<T>::value) {
    return value_to_json(value.value);
  } else if constexpr (IsOptional<T>::value) {
    return value ? value_to_json(*value) : Json(nullptr);
  } else if constexpr (std::same_as<T, SharedJson>) {
    return value ? *value : Json(nullptr);
  } else if constexpr (IsTextPairs<T>::value) {
    Json object = Json::object();
    for (const auto& [key, one] : value) object[key] = value_to_json(one);
    return object;
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (const auto& one : value) list.push_back(value_to_json(one));
    return list;
  } else if constexpr (IsTextMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, one] : value) object[key] = value_to_json(one);
    return object;
  } else {
    return record_to_json(value);
  }
}

/// A visitor that fills a JSON object.
struct RecordWriter {
  Json& object;

  template <class T>
  void operator()(const char* key, const T& member, const char*) {
    object[key] = value_to_json(member);
  }
  template <class T>
  void if_set(const char* key, const std::optional<T>& member, const char*) {
    if (member) object[key] = value_to_json(*member);
  }
  template <class T>
  void part_if_set(const char*, const std::optional<T>& part, const char*) {
    if (part) members(*this, const_cast<T&>(*part));
  }
};

/// The members in the order of their list. Non-finite numbers are written as null.
template <class T>
Json record_to_json(const T& record) {
  Json object = Json::object();
  RecordWriter writer{object};
  members(writer, const_cast<T&>(record));  // one list for both directions; the writer only reads
  return object;
}

// ---- from JSON

/// Throws Error with the place (`path`: "terms.3.bytes") and what was expected.
template <class T>
void value_from_json(const Json& json, T& value, const std::string& path);

namespace record_detail {

[[noreturn]] inline void refuse(const std::string& path, const char* expected) {
  throw Error(path + ": expected " + expected);
}

template <class T>
void integer_from_json(const Json& json, T& value, const std::string& path) {
  const auto take = [&](auto number) {
    if (!std::in_range<T>(number)) refuse(path, "a whole number within range");
    value = static_cast<T>(number);
  };
  if (!json.is_number_integer()) refuse(path, "a whole number");
  json.is_number_unsigned() ? take(json.get<std::uint64_t>()) : take(json.get<std::int64_t>());
}

template <class T>
void enum_from_json(const Json& json, T& value, const std::string& path) {
  if (!json.is_string()) refuse(path, "a string");
  std::string known;
  for (const auto& [one, name] : EnumNames<T>::values) {
    if (json.get_ref<const std::string&>() == name) {
      value = one;
      return;
    }
    known += (known.empty() ? "one of " : ", ") + std::string(name);
  }
  refuse(path, known.c_str());
}

}  // namespace record_detail

/// A visitor that reads a JSON object. Unknown keys are ignored.
struct RecordReader {
  const Json& object;
  const std::string& path;

  template <class T>
  void operator()(const char* key, T& member, const char*) {
    const auto found = object.find(key);
    if (found == object.end()) {
      record_detail::refuse(path_of(key), "a value, but the key is missing");
    }
    value_from_json(*found, member, path_of(key));
  }
  template <class T>
  void if_set(const char* key, std::optional<T>& member, const char*) {
    member.reset();
    const auto found = object.find(key);
    if (found != object.end()) value_from_json(*found, member.emplace(), path_of(key));
  }
  template <class T>
  void part_if_set(const char* first_key, std::optional<T>& part, const char*) {
    part.reset();
    if (object.contains(first_key)) members(*this, part.emplace());
  }

  std::string path_of(const char* key) const { return path.empty() ? key : path + "." + key; }
};

template <class T>
void value_from_json(const Json& json, T& value, const std::string& path) {
  using namespace record_detail;
  if constexpr (std::same_as<T, Json>) {
    value = json;
  } else if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) refuse(path, "true or false");
    value = json.get<bool>();
  } else if constexpr (std::integral<T>) {
    integer_from_json(json, value, path);
  } else if constexpr (std::floating_point<T>) {
    if (!json.is_number() && !json.is_null()) refuse(path, "a number");
    value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    if (!json.is_string()) refuse(path, "a string");
    value = json.get<std::string>();
  } else if constexpr (std::is_enum_v<T>) {
    enum_from_json(json, value, path);
  } else if constexpr (IsQuantity<T>::value) {
    value_from_json(json, value.value, path);
  } else if constexpr (IsOptional<T>::value) {
    value.reset();
    if (!json.is_null()) value_from_json(json, value.emplace(), path);
  } else if constexpr (std::same_as<T, SharedJson>) {
    value = std::make_shared<const Json>(json);
  } else if constexpr (IsTextPairs<T>::value) {
    if (!json.is_object()) refuse(path, "an object");
    value.clear();
    for (const auto& [key, one] : json.items()) {
      value.emplace_back(key, typename T::value_type::second_type{});
      value_from_json(one, value.back().second, path + "." + key);
    }
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array()) refuse(path, "a list");
    value.clear();
    for (const Json& one : json) {
      typename T::value_type element{};
      value_from_json(one, element, path + "." + std::to_string(value.size()));
      value.push_back(std::move(element));
    }
  } else if constexpr (IsTextMap<T>::value) {
    if (!json.is_object()) refuse(path, "an object");
    value.clear();
    for (const auto& [key, one] : json.items()) value_from_json(one, value[key], path + "." + key);
  } else {
    if (!json.is_object()) refuse(path.empty() ? "the record" : path, "an object");
    RecordReader reader{json, path};
    members(reader, value);
  }
}

/// Reads a record back from record_to_json's output. Throws Error naming the key and what was
/// expected.
template <class T>
T record_from_json(const Json& json) {
  T record{};
  value_from_json(json, record, "");
  return record;
}

// ---- JSON Schema

template <class T>
Json record_schema();

template <class T>
Json value_schema() {
  using namespace record_detail;
  if constexpr (std::same_as<T, Json> || std::same_as<T, SharedJson>) {
    return Json::object();
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::floating_point<T> || IsQuantity<T>::value) {
    return {{"type", {"number", "null"}}};  // null: not finite
  } else if constexpr (std::same_as<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::is_enum_v<T>) {
    Json names = Json::array();
    for (const auto& [one, name] : EnumNames<T>::values) names.push_back(std::string(name));
    return {{"enum", std::move(names)}};
  } else if constexpr (IsOptional<T>::value) {
    return {{"anyOf", {value_schema<typename T::value_type>(), Json{{"type", "null"}}}}};
  } else if constexpr (IsTextPairs<T>::value) {
    return {{"type", "object"},
            {"additionalProperties", value_schema<typename T::value_type::second_type>()}};
  } else if constexpr (IsVector<T>::value) {
    return {{"type", "array"}, {"items", value_schema<typename T::value_type>()}};
  } else if constexpr (IsTextMap<T>::value) {
    return {{"type", "object"}, {"additionalProperties", value_schema<typename T::mapped_type>()}};
  } else {
    return record_schema<T>();
  }
}

/// A visitor that describes members.
struct RecordDescriber {
  Json properties = Json::object();
  Json required = Json::array();

  template <class T>
  void operator()(const char* key, const T&, const char* meaning) {
    describe<T>(key, meaning);
    required.push_back(key);
  }
  template <class T>
  void if_set(const char* key, const std::optional<T>&, const char* meaning) {
    describe<T>(key, meaning);
  }
  template <class T>
  void part_if_set(const char*, const std::optional<T>&, const char*) {
    T part{};
    RecordDescriber inner;
    members(inner, part);
    properties.update(inner.properties);
  }

 private:
  template <class T>
  void describe(const char* key, const char* meaning) {
    Json schema = value_schema<T>();
    schema["description"] = meaning;
    properties[key] = std::move(schema);
  }
};

/// {"type": "object", "properties": ..., "required": [...]}, each property with its description. If
/// the members depend on the record's values, the schema of records like `record`.
template <class T>
Json record_schema(T record) {
  RecordDescriber describer;
  members(describer, record);
  return {{"type", "object"},
          {"properties", std::move(describer.properties)},
          {"required", std::move(describer.required)}};
}

template <class T>
Json record_schema() {
  return record_schema(T{});
}

/// The schema as a standalone document.
template <class T>
Json schema_document(const std::string& title) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(record_schema<T>());
  return schema;
}

}  // namespace roofcast
