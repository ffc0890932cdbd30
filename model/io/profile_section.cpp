#include "model/io/profile_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/json_reason.hpp"
#include "base/suggest.hpp"

namespace roofcast {

namespace {

constexpr JsonDialect kProfile{.place = "{where}: {path}{key}: ",
                               .refusal = "must be {expected}, but is {value}",
                               .missing = "is missing",
                               .max_shown = 100,
                               .null_is_absent = false};

const std::vector<std::string> kFormatNames = {"fp32", "tf32", "fp16", "bf16",
                                               "fp8",  "int8", "fp4",  "int4"};

}  // namespace

nlohmann::json parse_profile_json(const ProfileText& source) {
  const std::string place = fmt::format("{} {}", source.kind, source.name);
  nlohmann::json json;
  try {
    json = parse_bounded<nlohmann::json>(source.text, place, RepeatedKeys::refused);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t end = std::min(error.byte, source.text.size());
    const auto lines =
        std::count(source.text.begin(), source.text.begin() + static_cast<long>(end), '\n');
    throw Error(
        fmt::format("{}: line {}: is not JSON: {}", place, lines + 1, json_reason(error.what())));
  } catch (const nlohmann::json::exception&) {
    throw Error(place + ": contains a number too large for a double");
  }
  if (!json.is_object()) throw Error(place + ": must be a single JSON object");
  return json;
}

ProfileSection::ProfileSection(const nlohmann::json& object, std::string path,
                               const ProfileText& text)
    : JsonReader(object, fmt::format("{} {}", text.kind, text.name), kProfile, std::move(path)),
      source(text) {}

ProfileSection subsection(const ProfileSection& section, const std::string& key) {
  const nlohmann::json& value = section.required(key);
  if (!value.is_object()) section.refuse(key, "an object");
  return {value, section.path() + key + ".", section.source};
}

void check_keys(const ProfileSection& section, const std::vector<std::string>& known) {
  section.check_keys(known, "is not a key of a hardware profile");
}

double checked(const ProfileSection& section, const std::string& key, const nlohmann::json& value,
               const Range& range) {
  if (!value.is_number()) section.refuse(key, value, "a number");
  const auto number = value.get<double>();
  if (!(number >= range.low && number <= range.high)) {
    section.fail(key, fmt::format("{} is not between {} and {} {}", section.shown_value(value),
                                  range.low, range.high, range.unit));
  }
  return number;
}

double number(const ProfileSection& section, const std::string& key, const Range& range) {
  return checked(section, key, section.required(key), range);
}

std::int64_t whole(const ProfileSection& section, const std::string& key,
                   const nlohmann::json& value, const Range& range) {
  const double number = checked(section, key, value, range);
  if (number != std::floor(number)) section.refuse(key, value, "a whole number");
  return static_cast<std::int64_t>(number);
}

std::int64_t whole_number(const ProfileSection& section, const std::string& key,
                          const Range& range) {
  return whole(section, key, section.required(key), range);
}

std::string text(const ProfileSection& section, const std::string& key) {
  const nlohmann::json& value = section.required(key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    section.refuse(key, "a non-empty string");
  }
  return value.get<std::string>();
}

std::vector<std::string> texts(const ProfileSection& section, const std::string& key) {
  const nlohmann::json& list = section.required(key);
  if (!list.is_array()) section.refuse(key, "a list of strings");
  std::vector<std::string> result;
  for (const nlohmann::json& one : list) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty()) {
      section.fail(key, fmt::format("{} is not a string", section.shown_value(one)));
    }
    result.push_back(one.get<std::string>());
  }
  return result;
}

DType dtype_key(const ProfileSection& section, const std::string& key) {
  const std::optional<DType> dtype = parse_dtype(key);
  if (!dtype) section.fail(key, "is not a number format" + did_you_mean(key, kFormatNames));
  return *dtype;
}

DType dtype_at(const ProfileSection& section, const std::string& key) {
  const std::string spelling = text(section, key);
  const std::optional<DType> dtype = parse_dtype(spelling);
  if (!dtype) {
    section.fail(key, fmt::format("{} is not a number format", section.shown_value(spelling)) +
                          did_you_mean(spelling, kFormatNames));
  }
  return *dtype;
}

}  // namespace roofcast
