#include "model/io/config_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

/// A value as the file spells it, shortened.
std::string shown(const json& value) {
  constexpr std::size_t kLongest = 40;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string quoted_list(Names names) {
  std::string list;
  for (const std::string_view name : names) {
    list += fmt::format("{}'{}'", list.empty() ? "" : " or ", name);
  }
  return list;
}

std::optional<std::int64_t> whole_number(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

}  // namespace

Fields::Fields(const json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw Error(fmt::format("{}: expected a JSON object, found {}", where_, shown(object)));
  }
}

void Fields::fail(std::string_view key, std::string_view reason) const {
  throw Error(fmt::format("{}: '{}' {}", where_, key, reason));
}

Fields::Found Fields::find(Names names) const {
  for (const std::string_view name : names) {
    const auto found = object_->find(name);
    if (found != object_->end() && !found->is_null()) return {.key = name, .value = &*found};
  }
  return {};
}

std::string Fields::inside(std::string_view key) const {
  return fmt::format("{}: {}", where_, key);
}

bool Fields::has(std::string_view key) const { return find({key}).value != nullptr; }

bool Fields::has_any(Names names) const { return find(names).value != nullptr; }

std::int64_t Fields::integer(const Found& found, std::int64_t smallest,
                             std::int64_t largest) const {
  const std::optional<std::int64_t> number = whole_number(*found.value);
  if (number && *number >= smallest && *number <= largest) return *number;
  fail(found.key, fmt::format("must be a whole number from {} to {}, not {}", smallest, largest,
                              shown(*found.value)));
}

std::int64_t Fields::size(Names names, std::int64_t largest) const {
  const Found found = find(names);
  if (found.value == nullptr) {
    throw Error(fmt::format("{}: {} is missing", where_, quoted_list(names)));
  }
  return integer(found, 1, largest);
}

std::int64_t Fields::size_or(Names names, std::int64_t fallback, std::int64_t largest) const {
  const Found found = find(names);
  return found.value == nullptr ? fallback : integer(found, 1, largest);
}

std::optional<std::int64_t> Fields::count(Names names, std::int64_t largest) const {
  const Found found = find(names);
  if (found.value == nullptr) return std::nullopt;
  return integer(found, 0, largest);
}

std::int64_t Fields::count_or(Names names, std::int64_t fallback, std::int64_t largest) const {
  return count(names, largest).value_or(fallback);
}

std::optional<double> Fields::number(Names names) const {
  const Found found = find(names);
  if (found.value == nullptr) return std::nullopt;
  if (found.value->is_number() && std::isfinite(found.value->get<double>())) {
    return found.value->get<double>();
  }
  fail(found.key, fmt::format("must be a finite number, not {}", shown(*found.value)));
}

bool Fields::flag(Names names, bool fallback) const {
  const Found found = find(names);
  if (found.value == nullptr) return fallback;
  if (found.value->is_boolean()) return found.value->get<bool>();
  fail(found.key, fmt::format("must be true or false, not {}", shown(*found.value)));
}

std::string Fields::text(Names names, std::string fallback) const {
  const Found found = find(names);
  if (found.value == nullptr) return fallback;
  if (found.value->is_string()) return found.value->get<std::string>();
  fail(found.key, fmt::format("must be a text, not {}", shown(*found.value)));
}

const json* Fields::list(std::string_view key) const {
  const Found found = find({key});
  if (found.value == nullptr || found.value->is_array()) return found.value;
  fail(key, fmt::format("must be a list, not {}", shown(*found.value)));
}

std::vector<std::int64_t> Fields::counts(std::string_view key) const {
  std::vector<std::int64_t> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (const json& item : *items) {
    values.push_back(integer({.key = key, .value = &item}, 0, kLongestContext));
  }
  return values;
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  std::vector<std::string> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (const json& item : *items) {
    if (!item.is_string()) fail(key, fmt::format("must list texts, not {}", shown(item)));
    values.push_back(item.get<std::string>());
  }
  return values;
}

std::vector<Fields> Fields::objects(std::string_view key) const {
  std::vector<Fields> values;
  const json* const items = list(key);
  if (items == nullptr) return values;
  for (std::size_t i = 0; i < items->size(); ++i) {
    values.emplace_back((*items)[i], fmt::format("{}: {}[{}]", where_, key, i));
  }
  return values;
}

bool Fields::is_object(std::string_view key) const {
  const json* const value = find({key}).value;
  return value != nullptr && value->is_object();
}

bool Fields::is_list(std::string_view key) const {
  const json* const value = find({key}).value;
  return value != nullptr && value->is_array();
}

bool Fields::is_text(std::string_view key) const {
  const json* const value = find({key}).value;
  return value != nullptr && value->is_string();
}

std::optional<Fields> Fields::object(std::string_view key) const {
  const Found found = find({key});
  if (found.value == nullptr) return std::nullopt;
  return Fields(*found.value, inside(key));
}

std::vector<std::pair<std::string, Fields>> Fields::members() const {
  std::vector<std::pair<std::string, Fields>> all;
  for (const auto& [key, value] : object_->items()) {
    if (value.is_object()) all.emplace_back(key, Fields(value, inside(key)));
  }
  return all;
}

}  // namespace roofcast
