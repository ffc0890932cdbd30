#include "model/io/config_fields.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

constexpr JsonDialect kConfig{.place = "{where}: '{key}' ",
                              .refusal = "must be {expected}, not {value}",
                              .missing = "is missing",
                              .shows_structure = true};

}  // namespace

Fields::Fields(const json& object, std::string where)
    : JsonReader(object, std::move(where), kConfig) {
  if (!object.is_object()) {
    throw Error(
        fmt::format("{}: expected a JSON object, found {}", this->where(), shown_value(object)));
  }
}

std::optional<std::string_view> Fields::first_of(Names names) const {
  for (const std::string_view name : names) {
    if (has(name)) return name;
  }
  return std::nullopt;
}

std::string Fields::inside(std::string_view key) const {
  return fmt::format("{}: {}", where(), key);
}

std::optional<std::int64_t> Fields::integer(Names names, std::int64_t min, std::int64_t max) const {
  const auto key = first_of(names);
  return key ? JsonReader::integer(*key, min, max) : std::nullopt;
}

std::int64_t Fields::size(Names names, std::int64_t largest) const {
  if (const auto size = integer(names, 1, largest)) return *size;
  throw Error(fmt::format("{}: '{}' is missing", where(), fmt::join(names, "' or '")));
}

std::int64_t Fields::size_or(Names names, std::int64_t fallback, std::int64_t largest) const {
  return integer(names, 1, largest).value_or(fallback);
}

std::optional<std::int64_t> Fields::count(Names names, std::int64_t largest) const {
  return integer(names, 0, largest);
}

std::int64_t Fields::count_or(Names names, std::int64_t fallback, std::int64_t largest) const {
  return count(names, largest).value_or(fallback);
}

std::optional<double> Fields::number(Names names) const {
  const auto key = first_of(names);
  return key ? JsonReader::number(*key) : std::nullopt;
}

bool Fields::flag(Names names, bool fallback) const {
  const auto key = first_of(names);
  return key ? *JsonReader::flag(*key) : fallback;
}

std::string Fields::text(Names names, std::string fallback) const {
  const auto key = first_of(names);
  return key ? *JsonReader::text(*key) : fallback;
}

std::vector<std::int64_t> Fields::counts(std::string_view key) const {
  std::vector<std::int64_t> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (const json& item : *items) values.push_back(integer_at(key, item, 0, kLongestContext));
  return values;
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  std::vector<std::string> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (const json& item : *items) {
    if (!item.is_string()) {
      fail(key, fmt::format("must be a list of strings, not {}", shown_value(item)));
    }
    values.push_back(item.get<std::string>());
  }
  return values;
}

std::vector<Fields> Fields::objects(std::string_view key) const {
  std::vector<Fields> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (std::size_t i = 0; i < items->size(); ++i) {
    values.emplace_back((*items)[i], fmt::format("{}: {}[{}]", where(), key, i));
  }
  return values;
}

bool Fields::is_object(std::string_view key) const { return has(key) && find(key)->is_object(); }

bool Fields::is_list(std::string_view key) const { return has(key) && find(key)->is_array(); }

bool Fields::is_text(std::string_view key) const { return has(key) && find(key)->is_string(); }

std::optional<Fields> Fields::object(std::string_view key) const {
  const json* const found = find(key);
  return found == nullptr ? std::nullopt : std::optional(Fields(*found, inside(key)));
}

std::vector<std::pair<std::string, Fields>> Fields::members() const {
  std::vector<std::pair<std::string, Fields>> all;
  for (const auto& [key, found] : value().items()) {
    if (found.is_object()) all.emplace_back(key, Fields(found, inside(key)));
  }
  return all;
}

}  // namespace roofcast
