#include "simulator/io/json_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/suggest.hpp"

namespace roofcast {
namespace {

/// A value as an error shows it: short, on one line, whatever bytes it holds.
std::string shown_value(const nlohmann::json& value) {
  return shown(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), 60);
}

/// A key as an error shows it: as in the file, but on one line whatever it holds.
std::string shown_key(const std::string& key) {
  std::string text = shown_value(key);
  if (text.ends_with('"')) text.pop_back();
  return text.substr(1);
}

}  // namespace

JsonObject::JsonObject(const nlohmann::json& json, std::string where, std::string path,
                       std::span<const char* const> keys)
    : json_(&json), where_(std::move(where)), path_(std::move(path)) {
  if (!json.is_object()) {
    throw Error(fmt::format("{}: {} is {}, expected an object", where_,
                            path_.empty() ? "the file" : path_, shown_value(json)));
  }
  for (const auto& item : json.items()) {
    const auto is_key = [&](const char* key) { return item.key() == key; };
    if (std::any_of(keys.begin(), keys.end(), is_key)) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    throw Error(fmt::format("{}: unknown key {}{}", where_, path_of(shown_key(item.key()).c_str()),
                            did_you_mean(item.key(), known)));
  }
}

std::string JsonObject::path_of(const char* key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + key;
}

const nlohmann::json* JsonObject::find(const char* key) const {
  const auto found = json_->find(key);
  return found == json_->end() ? nullptr : &*found;
}

void JsonObject::fail(const char* key, const std::string& expected) const {
  const auto* value = find(key);
  if (value == nullptr) fail_missing(key, expected);
  throw Error(fmt::format("{}: {} is {}, expected {}", where_, path_of(key), shown_value(*value),
                          expected));
}

void JsonObject::fail_missing(const char* key, const std::string& expected) const {
  throw Error(fmt::format("{}: {} is missing, expected {}", where_, path_of(key), expected));
}

std::optional<std::string> JsonObject::text(const char* key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, "a text");
  return value->get<std::string>();
}

std::optional<bool> JsonObject::boolean(const char* key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(key, "true or false");
  return value->get<bool>();
}

std::optional<std::int64_t> JsonObject::integer(const char* key, std::int64_t min,
                                                std::int64_t max) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto expected = [&] {
    return max == std::numeric_limits<std::int64_t>::max()
               ? fmt::format("a whole number from {}", min)
               : fmt::format("a whole number from {} to {}", min, max);
  };
  const bool too_large =
      value->is_number_unsigned() && std::cmp_greater(value->get<std::uint64_t>(), max);
  if (!value->is_number_integer() || too_large) fail(key, expected());
  const auto number = value->get<std::int64_t>();
  if (number < min || number > max) fail(key, expected());
  return number;
}

std::optional<std::uint64_t> JsonObject::unsigned_integer(const char* key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_unsigned()) fail(key, "a whole number from 0 to 2^64 - 1");
  return value->get<std::uint64_t>();
}

std::optional<double> JsonObject::number(const char* key, double above) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>()) ||
      value->get<double>() <= above) {
    fail(key, fmt::format("a number above {}", above));
  }
  return value->get<double>();
}

std::optional<double> JsonObject::fraction(const char* key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number >= 0 && number <= 1)) fail(key, "a number from 0 to 1");
  return number;
}

std::optional<double> JsonObject::number_or_infinity(const char* key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string() && value->get<std::string>() == "inf") {
    return std::numeric_limits<double>::infinity();
  }
  if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0) {
    fail(key, "a positive number or \"inf\"");
  }
  return value->get<double>();
}

std::optional<JsonObject> JsonObject::object(const char* key,
                                             std::span<const char* const> keys) const {
  const auto* value = find(key);
  if (value == nullptr) return std::nullopt;
  return JsonObject(*value, where_, path_of(key), keys);
}

std::vector<JsonObject> JsonObject::objects(const char* key,
                                            std::span<const char* const> keys) const {
  std::vector<JsonObject> result;
  const auto* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) fail(key, "a list");
  for (std::size_t i = 0; i < value->size(); ++i) {
    result.emplace_back((*value)[i], where_, fmt::format("{}[{}]", path_of(key), i), keys);
  }
  return result;
}

}  // namespace roofcast
