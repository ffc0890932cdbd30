#include "simulator/io/json_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/suggest.hpp"

namespace roofcast {
namespace {

constexpr JsonDialect kScenario{.max_shown = 60, .shows_structure = true, .null_is_absent = false};

/// A key as shown in errors: as in the file, but always on one line.
std::string shown_key(const JsonReader& reader, const std::string& key) {
  std::string text = reader.shown_value(key);
  if (text.ends_with('"')) text.pop_back();
  return text.substr(1);
}

}  // namespace

JsonObject::JsonObject(const nlohmann::json& json, const std::string& where,
                       const std::string& path, std::span<const char* const> keys)
    : reader_(json, where, kScenario, path.empty() ? "" : path + '.') {
  if (!json.is_object()) {
    throw Error(fmt::format("{}: {} is {}, expected an object", where,
                            path.empty() ? "the file" : path, reader_.shown_value(json)));
  }
  for (const auto& item : json.items()) {
    const auto is_key = [&](const char* key) { return item.key() == key; };
    if (std::any_of(keys.begin(), keys.end(), is_key)) continue;
    throw Error(fmt::format("{}: unknown key {}{}{}", where, reader_.path(),
                            shown_key(reader_, item.key()),
                            did_you_mean(item.key(), {keys.begin(), keys.end()})));
  }
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
  return JsonObject(*value, reader_.where(), reader_.path() + key, keys);
}

std::vector<JsonObject> JsonObject::objects(const char* key,
                                            std::span<const char* const> keys) const {
  std::vector<JsonObject> result;
  const auto* value = reader_.list(key);
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    result.emplace_back((*value)[i], reader_.where(),
                        fmt::format("{}{}[{}]", reader_.path(), key, i), keys);
  }
  return result;
}

}  // namespace roofcast
