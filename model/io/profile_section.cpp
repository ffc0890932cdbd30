#include "model/io/profile_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/suggest.hpp"

namespace roofcast {

namespace {

using Json = nlohmann::json;

// Longest key or value that an error repeats.
constexpr std::size_t kShownCharacters = 100;

/// On one line and not too long.
std::string cut(std::string text) {
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters) + " ...";
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, '?');
  return text;
}

const std::vector<std::string> kFormatNames = {"fp32", "tf32", "fp16", "bf16",
                                               "fp8",  "int8", "fp4",  "int4"};

}  // namespace

Json parse_profile_json(const ProfileText& source) {
  const std::string place = fmt::format("{} {}", source.kind, source.name);
  Json json;
  try {
    json = parse_bounded<Json>(source.text, place, RepeatedKeys::refused);
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(error.byte, source.text.size());
    const auto lines =
        std::count(source.text.begin(), source.text.begin() + static_cast<long>(end), '\n');
    throw Error(fmt::format("{}: line {}: is not JSON", place, lines + 1));
  } catch (const Json::exception&) {
    throw Error(place + ": holds a number that no double can");
  }
  if (!json.is_object()) throw Error(place + ": must be one JSON object");
  return json;
}

void fail(const ProfileSection& section, const std::string& key, const std::string& what) {
  throw Error(fmt::format("{} {}: {}{}: {}", section.source.kind, section.source.name,
                          cut(section.path), cut(key), what));
}

std::string shown(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return cut(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

bool has(const ProfileSection& section, const std::string& key) {
  return section.object.contains(key);
}

const Json& required(const ProfileSection& section, const std::string& key) {
  const auto found = section.object.find(key);
  if (found == section.object.end()) fail(section, key, "is missing");
  return *found;
}

ProfileSection subsection(const ProfileSection& section, const std::string& key) {
  const Json& value = required(section, key);
  if (!value.is_object()) fail(section, key, "must be an object");
  return {value, section.path + key + ".", section.source};
}

void check_keys(const ProfileSection& section, const std::vector<std::string>& known) {
  for (const auto& [key, value] : section.object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(section, key, "is not a key of a hardware profile" + did_you_mean(key, known));
    }
  }
}

double checked(const ProfileSection& section, const std::string& key, const Json& value,
               const Range& range) {
  if (!value.is_number()) {
    fail(section, key, fmt::format("must be a number, but is {}", shown(value)));
  }
  const auto number = value.get<double>();
  if (!(number >= range.low && number <= range.high)) {
    fail(section, key,
         fmt::format("{} is not between {} and {} {}", shown(value), range.low, range.high,
                     range.unit));
  }
  return number;
}

double number(const ProfileSection& section, const std::string& key, const Range& range) {
  return checked(section, key, required(section, key), range);
}

std::int64_t whole(const ProfileSection& section, const std::string& key, const Json& value,
                   const Range& range) {
  const double number = checked(section, key, value, range);
  if (number != std::floor(number)) fail(section, key, "must be a whole number");
  return static_cast<std::int64_t>(number);
}

std::int64_t whole_number(const ProfileSection& section, const std::string& key,
                          const Range& range) {
  return whole(section, key, required(section, key), range);
}

std::string text(const ProfileSection& section, const std::string& key) {
  const Json& value = required(section, key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    fail(section, key, "must be a text that is not empty");
  }
  return value.get<std::string>();
}

std::vector<std::string> texts(const ProfileSection& section, const std::string& key) {
  const Json& list = required(section, key);
  if (!list.is_array()) fail(section, key, "must be a list of texts");
  std::vector<std::string> result;
  for (const Json& one : list) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty()) {
      fail(section, key, fmt::format("{} is not a text", shown(one)));
    }
    result.push_back(one.get<std::string>());
  }
  return result;
}

DType dtype_key(const ProfileSection& section, const std::string& key) {
  const std::optional<DType> dtype = parse_dtype(key);
  if (!dtype) fail(section, key, "is not a number format" + did_you_mean(key, kFormatNames));
  return *dtype;
}

DType dtype_at(const ProfileSection& section, const std::string& key) {
  const std::string spelling = text(section, key);
  const std::optional<DType> dtype = parse_dtype(spelling);
  if (!dtype) {
    fail(section, key,
         fmt::format("{} is not a number format", shown(spelling)) +
             did_you_mean(spelling, kFormatNames));
  }
  return *dtype;
}

}  // namespace roofcast
