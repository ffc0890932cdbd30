#include "base/io/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestCount = 9'007'199'254'740'992.0;  // 2^53
constexpr std::size_t kLongestKey = 100;                   // in error messages

}  // namespace

std::optional<double> number_in(std::string_view text) {
  if (const auto number = to_number<double>(text)) return number;
  // Spellings of Python, JavaScript, YAML and Prometheus.
  const std::string word = lower(text);
  for (const char* infinite : {"inf", "+inf", ".inf", "infinity"}) {
    if (word == infinite) return kInfinity;
  }
  if (word == "-inf" || word == "-.inf" || word == "-infinity") return -kInfinity;
  return word == "nan" || word == ".nan" ? std::optional(kNan) : std::nullopt;
}

std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return number_in(std::string_view(value.get_ref<const std::string&>()));
  return std::nullopt;
}

JsonReader::JsonReader(const json& object, std::string where, const JsonDialect& dialect,
                       std::string path)
    : object_(&object), where_(std::move(where)), path_(std::move(path)), dialect_(&dialect) {}

std::string JsonReader::path_of(std::string_view key) const {
  return path_ + shown(key, kLongestKey);
}

std::string JsonReader::shown_value(const json& value) const {
  if (!dialect_->shows_structure && value.is_array()) return "a list";
  if (!dialect_->shows_structure && value.is_object()) return "an object";
  if (dialect_->quote != '"' && value.is_string()) {
    const std::string text = shown(value.get_ref<const std::string&>(), dialect_->max_shown);
    return dialect_->quote + text + dialect_->quote;
  }
  return shown(value.dump(-1, ' ', true, json::error_handler_t::replace), dialect_->max_shown);
}

void JsonReader::fail(std::string_view key, std::string_view reason) const {
  throw Error(fmt::format(fmt::runtime(dialect_->place), fmt::arg("where", where_),
                          fmt::arg("path", shown(path_, kLongestKey)),
                          fmt::arg("key", shown(key, kLongestKey))) +
              std::string(reason));
}

void JsonReader::refuse(std::string_view key, std::string_view expected) const {
  if (const json* value = find(key)) refuse(key, *value, expected);
  fail_missing(key, expected);
}

void JsonReader::fail_missing(std::string_view key, std::string_view expected) const {
  fail(key, fmt::format(fmt::runtime(dialect_->missing), fmt::arg("expected", expected)));
}

void JsonReader::refuse(std::string_view key, const json& value, std::string_view expected) const {
  fail(key, fmt::format(fmt::runtime(dialect_->refusal), fmt::arg("value", shown_value(value)),
                        fmt::arg("expected", expected)));
}

const json* JsonReader::find(std::string_view key) const {
  const auto found = object_->find(key);
  const bool absent = found == object_->end() || (dialect_->null_is_absent && found->is_null());
  return absent ? nullptr : &*found;
}

const json& JsonReader::required(std::string_view key, std::string_view expected) const {
  const json* value = find(key);
  if (value == nullptr) refuse(key, expected);
  return *value;
}

std::int64_t JsonReader::integer_at(std::string_view key, const json& value, std::int64_t min,
                                    std::int64_t max) const {
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  if (fits && number >= min && number <= max) return number;
  refuse(key, value,
         max == kAnyInteger ? fmt::format("a whole number from {}", min)
                            : fmt::format("a whole number from {} to {}", min, max));
}

std::optional<std::int64_t> JsonReader::integer(std::string_view key, std::int64_t min,
                                                std::int64_t max) const {
  const json* value = find(key);
  return value == nullptr ? std::nullopt : std::optional(integer_at(key, *value, min, max));
}

std::optional<std::int64_t> JsonReader::count(std::string_view key) const {
  const auto value = number(key);
  if (!value) return std::nullopt;
  if (*value < 0 || *value > kLargestCount || *value != std::floor(*value)) {
    refuse(key, "a whole number");
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<double> JsonReader::number(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (dialect_->numbers_in_texts) {
    const auto number = number_in(*value);
    if (!number) refuse(key, "a number");
    return std::isnan(*number) ? std::nullopt : number;
  }
  if (!value->is_number() || !std::isfinite(value->get<double>())) refuse(key, "a finite number");
  return value->get<double>();
}

std::optional<bool> JsonReader::flag(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonReader::text(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "a string");
  return value->get<std::string>();
}

std::optional<JsonReader> JsonReader::object(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) refuse(key, "an object");
  return JsonReader(*value, where_, *dialect_, path_of(key) + '.');
}

JsonReader JsonReader::part(std::string_view key) const {
  static const json kEmpty = json::object();
  const auto found = object(key);
  return found ? *found : JsonReader(kEmpty, where_, *dialect_, path_of(key) + '.');
}

const json* JsonReader::list(std::string_view key, std::string_view expected) const {
  const json* value = find(key);
  if (value != nullptr && !value->is_array()) refuse(key, expected);
  return value;
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) const {
  const char* const expected = "a list of objects";
  const json* value = list(key, expected);
  std::vector<JsonReader> readers;
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    if (!(*value)[i].is_object()) refuse(key, expected);
    readers.emplace_back((*value)[i], where_, *dialect_, fmt::format("{}[{}].", path_of(key), i));
  }
  return readers;
}

std::optional<std::vector<double>> JsonReader::numbers(std::string_view key) const {
  const char* const expected = "a list of numbers";
  const json* value = list(key, expected);
  if (value == nullptr) return std::nullopt;
  std::vector<double> numbers;
  numbers.reserve(value->size());
  for (const json& entry : *value) {
    const auto number = number_in(entry);
    if (!number) refuse(key, expected);
    numbers.push_back(*number);
  }
  return numbers;
}

void JsonReader::check_keys(const std::vector<std::string>& known,
                            std::string_view complaint) const {
  for (const auto& [key, value] : object_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail(key, std::string(complaint) + did_you_mean(key, known));
  }
}

}  // namespace roofcast
