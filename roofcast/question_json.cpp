#include "roofcast/question_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/joined.hpp"
#include "base/keys.hpp"
#include "base/suggest.hpp"

namespace roofcast {
namespace {

/// A number as it is written in JSON, a text as it is.
std::string text_of(const std::string& key, const Json& value, const ValueRules& rules) {
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number()) {
    text = value.dump();
  } else if (value.is_boolean()) {
    text = value.get<bool>() ? "true" : "false";
  } else {
    throw UsageError(
        fmt::format("{}: expected a string, a number, true or false, not {}", key,
                    value.is_null() ? "null" : (value.is_array() ? "a list" : "an object")));
  }
  if (text.empty()) throw UsageError(key + ": the value is empty");
  if (text.size() <= rules.max_size) return text;
  throw UsageError(fmt::format("{}: the value is longer than {} characters", key, rules.max_size));
}

/// Given value by value, not as one text with commas.
bool is_list(const Argument& argument) {
  return argument.form == FlagForm::list || argument.form == FlagForm::repeated;
}

/// Numbers need no quotes.
Json one_value() { return {{"type", Json::array({"string", "number"})}}; }

Json value_schema(const Argument& argument) {
  if (argument.form == FlagForm::toggle || argument.form == FlagForm::on_off) {
    return {{"type", "boolean"}};
  }
  if (!takes_list(argument)) return one_value();
  return {{"type", Json::array({"array", "string", "number"})}, {"items", one_value()}};
}

std::string description_of(const Argument& argument) {
  std::string text;
  if (!argument.placeholder.empty() && argument.form != FlagForm::on_off) {
    text = std::string(argument.placeholder) + ": ";
  }
  text += argument.help;
  const std::string others = joined(argument.aliases, [](std::string_view alias) {
    return alias.starts_with("--") ? key_of(alias.substr(2)) : "";
  });
  return others.empty() ? text : text + " (also " + others + ")";
}

}  // namespace

bool takes_list(const Argument& argument) {
  return is_list(argument) || argument.placeholder.ends_with(",...");
}

std::string key_of(std::string_view flag) {
  std::string key(flag);
  std::ranges::replace(key, '-', '_');
  return key;
}

namespace question_json_detail {

void check_object(const Json& body) {
  if (body.is_object()) return;
  throw UsageError("expected a JSON object, such as {\"model\": \"llama-3.1-8b\"}");
}

std::vector<std::string> keys_in(const Json& body) {
  std::vector<std::string> keys;
  for (const auto& item : body.items()) keys.push_back(item.key());
  return keys;
}

const Json& value_in(const Json& body, const std::string& key) { return body.at(key); }

bool is_on(const std::string& key, const Json& value) {
  if (!value.is_boolean()) throw UsageError(key + ": expected true or false");
  return value.get<bool>();
}

std::vector<std::string> texts_of(const std::string& key, const Json& value, bool is_list,
                                  const ValueRules& rules) {
  std::vector<std::string> texts;
  if (value.is_array()) {
    if (value.size() > rules.max_values) {
      throw UsageError(
          fmt::format("{}: expected a list of at most {} values", key, rules.max_values));
    }
    for (const Json& one : value) texts.push_back(text_of(key, one, rules));
    if (!is_list) texts = {text_of(key, fmt::format("{}", fmt::join(texts, ",")), rules)};
  } else {
    texts.push_back(text_of(key, value, rules));
  }
  if (rules.check == nullptr) return texts;
  for (const std::string& text : texts) rules.check(key, text);
  return texts;
}

void throw_unknown(const std::string& key, const std::vector<std::string>& names) {
  std::vector<std::string> keys;
  for (const std::string& name : names) keys.push_back(key_of(name));
  throw UsageError(fmt::format("unknown key '{}'{}", shown(key), did_you_mean(key, keys)));
}

void throw_twice(std::string_view flag) { throw UsageError(key_of(flag) + ": given twice"); }

void throw_missing(std::string_view flag) { throw UsageError(key_of(flag) + " is missing"); }

}  // namespace question_json_detail

std::string with_json_keys(const std::string& named) {
  const std::string message =
      with_keys(named, [](std::string_view key) { return std::string(key); });
  constexpr std::string_view kCommand = "roofcast ";  // up to a bracket it is a command line
  std::string result;
  for (std::size_t at = 0; at < message.size();) {
    const std::string_view rest = std::string_view(message).substr(at);
    std::size_t size = 1;
    if (rest.starts_with(kCommand)) {
      size = std::min(rest.find(')'), rest.size());
    } else if (rest.starts_with("--") && rest.size() > 2 && rest[2] >= 'a' && rest[2] <= 'z') {
      size = std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), rest.size());
      result += key_of(rest.substr(2, size - 2));
      at += size;
      continue;
    }
    result += rest.substr(0, size);
    at += size;
  }
  return result;
}

std::string text_with_json_keys(Document document) {
  for (Section& section : document.sections) {
    section.heading = with_json_keys(section.heading);
    for (std::string& line : section.lines) line = with_json_keys(line);
    for (auto& row : section.table.rows) {
      for (Cell& cell : row) cell.text = with_json_keys(cell.text);
    }
  }
  std::ostringstream text;
  write(document, OutputFormat::table, text);
  return text.str();
}

Json arguments_schema(const std::vector<Argument>& arguments) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Argument& argument : arguments) {
    Json property = value_schema(argument);
    property["description"] = description_of(argument);
    properties[key_of(argument.name)] = std::move(property);
    if (argument.required) required.push_back(key_of(argument.name));
  }
  Json schema = {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace roofcast
