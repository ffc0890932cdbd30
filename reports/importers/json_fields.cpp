#include "reports/importers/json_fields.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr double kLargestCount = 9'007'199'254'740'992.0;  // 2^53

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const json& empty_object() {
  static const json empty = json::object();
  return empty;
}

std::string shown_value(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "'" + shown(value.get_ref<const std::string&>()) + "'";
  return value.dump();
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  if (const auto number = to_number<double>(text)) return number;
  // As Python, JavaScript, YAML and Prometheus spell them.
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

const json* JsonFields::find(std::string_view key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

std::string JsonFields::path_of(std::string_view key) const { return path_ + shown(key); }

void JsonFields::fail(std::string_view key, std::string_view expected) const {
  const json* value = find(key);
  throw Error(fmt::format("{}: {} is {}, expected {}", where_, path_of(key),
                          value == nullptr ? "missing" : shown_value(*value), expected));
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = number_in(*value);
  if (!number) fail(key, "a number");
  if (std::isnan(*number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> JsonFields::count(std::string_view key) const {
  const auto value = number(key);
  if (!value) return std::nullopt;
  if (*value < 0 || *value > kLargestCount || *value != std::floor(*value)) {
    fail(key, "a whole number");
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<std::string> JsonFields::text(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, "a text");
  return value->get<std::string>();
}

JsonFields JsonFields::object(std::string_view key) const {
  const json* value = find(key);
  if (value != nullptr && !value->is_object()) fail(key, "an object");
  JsonFields fields(value == nullptr ? empty_object() : *value, where_);
  fields.path_ = path_of(key) + ".";
  return fields;
}

std::vector<JsonFields> JsonFields::objects(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, "a list of objects");
  std::vector<JsonFields> fields;
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_object()) fail(key, "a list of objects");
    fields.emplace_back((*value)[i], where_);
    fields.back().path_ = fmt::format("{}[{}].", path_of(key), i);
  }
  return fields;
}

std::optional<std::vector<double>> JsonFields::numbers(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) fail(key, "a list of numbers");
  std::vector<double> numbers;
  numbers.reserve(value->size());
  for (const json& entry : *value) {
    const auto number = number_in(entry);
    if (!number) fail(key, "a list of numbers");
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace roofcast
