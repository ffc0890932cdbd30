#include "base/record.hpp"

#include <cmath>

namespace roofcast {

MemberVisitor record_writer(Json& object) {
  return MemberVisitor([&object](const Member& member) {
    void* value = member.optional ? member.optional->find(member.address) : member.address;
    if (value == nullptr) return;
    if (member.part) {
      MemberVisitor writer = record_writer(object);
      member.part(writer, value);
    } else {
      object[member.key] = member.type.to_json(value);
    }
  });
}

MemberVisitor record_reader(const Json& object, const std::string& path) {
  return MemberVisitor([&object, &path](const Member& member) {
    const std::string place = path.empty() ? member.key : path + "." + member.key;
    const auto found = object.find(member.key);
    if (member.optional) member.optional->reset(member.address);
    if (found == object.end()) {
      if (member.optional) return;
      record_detail::refuse(place, "a value, but the key is missing");
    }
    void* value = member.optional ? member.optional->emplace(member.address) : member.address;
    if (member.part) {
      MemberVisitor reader = record_reader(object, path);
      member.part(reader, value);
    } else {
      member.type.from_json(*found, value, place);
    }
  });
}

MemberVisitor record_describer(RecordDescription& description) {
  return MemberVisitor([&description](const Member& member) {
    if (member.part) {
      RecordDescription inner;
      MemberVisitor describer = record_describer(inner);
      member.part(describer, member.optional->emplace(member.address));
      description.properties.update(inner.properties);
      return;
    }
    Json schema = member.type.schema();
    schema["description"] = member.meaning;
    description.properties[member.key] = std::move(schema);
    if (!member.optional) description.required.push_back(member.key);
  });
}

namespace record_detail {

// ---- to JSON

void refuse(const std::string& path, const std::string& expected) {
  throw Error(path + ": expected " + expected);
}

Json null() { return nullptr; }
Json copied(const Json& json) { return json; }
Json of_bool(bool value) { return value; }
Json of_signed(std::int64_t value) { return value; }
Json of_unsigned(std::uint64_t value) { return value; }
Json of_double(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json of_text(std::string_view text) { return std::string(text); }
Json empty_object() { return Json::object(); }

Json of_list(const void* first, std::size_t count, std::size_t size, const ValueType& type) {
  Json list = Json::array();
  const auto* element = static_cast<const std::byte*>(first);
  for (std::size_t i = 0; i < count; ++i) list.push_back(type.to_json(element + i * size));
  return list;
}

Json of_record(VisitMembers visit, const void* record) {
  Json object = Json::object();
  MemberVisitor writer = record_writer(object);
  visit(writer, const_cast<void*>(record));  // one list for both ways; the writer only reads
  return object;
}

void put(Json& object, const std::string& key, Json value) { object[key] = std::move(value); }

// ---- from JSON

bool is_null(const Json& json) { return json.is_null(); }

void read_bool(const Json& json, bool& value, const std::string& path) {
  if (!json.is_boolean()) refuse(path, "true or false");
  value = json.get<bool>();
}

namespace {

constexpr const char* kInItsRange = "a whole number within range";

void check_integer(const Json& json, const std::string& path) {
  if (!json.is_number_integer()) refuse(path, "a whole number");
}

void check_object(const Json& json, const std::string& path) {
  if (!json.is_object()) refuse(path, "an object");
}

}  // namespace

std::int64_t read_signed(const Json& json, std::int64_t min, std::int64_t max,
                         const std::string& path) {
  check_integer(json, path);
  if (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>())) {
    refuse(path, kInItsRange);
  }
  const auto value = json.get<std::int64_t>();
  if (value < min || value > max) refuse(path, kInItsRange);
  return value;
}

std::uint64_t read_unsigned(const Json& json, std::uint64_t max, const std::string& path) {
  check_integer(json, path);
  if (!json.is_number_unsigned() && json.get<std::int64_t>() < 0) refuse(path, kInItsRange);
  const auto value = json.get<std::uint64_t>();
  if (value > max) refuse(path, kInItsRange);
  return value;
}

double read_double(const Json& json, const std::string& path) {
  if (!json.is_number() && !json.is_null()) refuse(path, "a number");
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

void read_text(const Json& json, std::string& value, const std::string& path) {
  if (!json.is_string()) refuse(path, "a string");
  value = json.get<std::string>();
}

std::size_t read_name(const Json& json, const std::vector<std::string_view>& names,
                      const std::string& path) {
  if (!json.is_string()) refuse(path, "a string");
  std::string known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (json.get_ref<const std::string&>() == names[i]) return i;
    known += (known.empty() ? "one of " : ", ") + std::string(names[i]);
  }
  refuse(path, known);
}

void read_list(const Json& json, void* list, void* (*resize)(void* list, std::size_t count),
               std::size_t size, const ValueType& type, const std::string& path) {
  if (!json.is_array()) refuse(path, "a list");
  auto* element = static_cast<std::byte*>(resize(list, json.size()));
  for (std::size_t i = 0; i < json.size(); ++i) {
    type.from_json(json[i], element + i * size, path + "." + std::to_string(i));
  }
}

void read_map(const Json& json, void* map, void* (*add)(void* map, const std::string& key),
              const ValueType& type, const std::string& path) {
  check_object(json, path);
  for (const auto& [key, value] : json.items()) {
    std::string place = path;
    place += '.';
    place += key;
    type.from_json(value, add(map, key), place);
  }
}

void read_record(const Json& json, VisitMembers visit, void* record, const std::string& path) {
  check_object(json, path.empty() ? "the record" : path);
  MemberVisitor reader = record_reader(json, path);
  visit(reader, record);
}

// ---- JSON Schema

Json named_type(const char* name) { return {{"type", name}}; }

Json number_schema() { return {{"type", {"number", "null"}}}; }  // null: not finite

Json names_schema(const std::vector<std::string_view>& names) {
  Json list = Json::array();
  for (const std::string_view name : names) list.push_back(std::string(name));
  return {{"enum", std::move(list)}};
}

Json or_null(Json schema) { return {{"anyOf", {std::move(schema), named_type("null")}}}; }

Json list_of(Json schema) { return {{"type", "array"}, {"items", std::move(schema)}}; }

Json map_of(Json schema) {
  return {{"type", "object"}, {"additionalProperties", std::move(schema)}};
}

Json schema_of(VisitMembers visit, void* record) {
  RecordDescription description;
  MemberVisitor describer = record_describer(description);
  visit(describer, record);
  return {{"type", "object"},
          {"properties", std::move(description.properties)},
          {"required", std::move(description.required)}};
}

Json document_of(const std::string& title, Json schema) {
  Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  for (auto& [key, value] : schema.items()) document[key] = std::move(value);
  return document;
}

}  // namespace record_detail
}  // namespace roofcast
