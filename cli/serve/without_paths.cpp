#include "cli/serve/without_paths.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// What may stand around a path in a message or a command line.
bool is_boundary(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\'' || letter == '"' ||
         letter == '=' || letter == '(' || letter == ')' || letter == ',' || letter == ';' ||
         letter == '@' || letter == '<' || letter == '>';
}

/// As no name of a model and no unit begins.
bool starts_as_path(std::string_view text) {
  if (text.size() < 2) return false;
  const bool drive = text.size() > 2 && text[1] == ':' && text[2] == '\\';
  const bool absolute = text[0] == '/' && text[1] != ' ';
  return drive || absolute || text.starts_with("~/") || text.starts_with("./") ||
         text.starts_with("../") || text.starts_with("file:");
}

bool is_path(std::string_view word) {
  if (starts_as_path(word)) return true;
  if (word.find("://") != std::string_view::npos) return false;  // a link
  return word.find("/../") != std::string_view::npos || word.find(":/") != std::string_view::npos;
}

std::string_view last_name(std::string_view word) {
  while (word.size() > 1 && (word.back() == '/' || word.back() == '\\')) word.remove_suffix(1);
  const auto slash = word.find_last_of("/\\");
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

/// What the quotes that open at `at` hold: a path there may have spaces. Empty where there are
/// none.
std::string_view quoted_at(std::string_view text, std::size_t at) {
  if (text[at] != '\'' && text[at] != '"') return {};
  const auto end = text.find(text[at], at + 1);
  return end == std::string_view::npos ? std::string_view{} : text.substr(at + 1, end - at - 1);
}

}  // namespace

std::string without_paths(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::size_t at = 0;
  if (starts_as_path(text)) return std::string(last_name(text));
  while (at < text.size()) {
    if (const std::string_view quoted = quoted_at(text, at); is_path(quoted)) {
      result += text[at];
      result += last_name(quoted);
      at += 1 + quoted.size();
      continue;
    }
    if (is_boundary(text[at])) {
      result += text[at++];
      continue;
    }
    const std::size_t end = static_cast<std::size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_boundary) -
        text.begin());
    const std::string_view word = text.substr(at, end - at);
    result += is_path(word) ? last_name(word) : word;
    at = end;
  }
  return result;
}

Json without_paths_in(const Json& json) {
  if (json.is_string()) return without_paths(json.get_ref<const std::string&>());
  if (json.is_array()) {
    Json result = Json::array();
    for (const Json& value : json) result.push_back(without_paths_in(value));
    return result;
  }
  if (!json.is_object()) return json;
  Json result = Json::object();
  for (const auto& item : json.items()) {
    result[without_paths(item.key())] = without_paths_in(item.value());
  }
  return result;
}

}  // namespace roofcast
