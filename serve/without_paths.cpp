#include "serve/without_paths.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace roofcast {
namespace {

/// Whether `letter` separates words of a message or a command line.
bool is_boundary(char letter) {
  return std::string_view(" \t\n'\"=(),;@<>").find(letter) != std::string_view::npos;
}

/// "/s", "/h" and "/month" are units: a path has another '/', in its first word.
bool starts_absolute(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  return word.size() > 2 && word[0] == '/' && word.find('/', 1) != std::string_view::npos;
}

std::string_view last_name(std::string_view word) {
  while (word.size() > 1 && (word.back() == '/' || word.back() == '\\')) word.remove_suffix(1);
  const auto slash = word.find_last_of("/\\");
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

/// Names of models and units never begin like this.
bool starts_as_path(std::string_view text) {
  if (text.size() < 2) return false;
  const bool drive = text.size() > 2 && text[1] == ':' && text[2] == '\\';
  const bool absolute = starts_absolute(text);
  return drive || absolute || text.starts_with("~/") || text.starts_with("./") ||
         text.starts_with("../") || text.starts_with("file:");
}

/// "runs.db", "trace.jsonl"; not "Llama-3.1-8B".
bool has_suffix(std::string_view name) {
  constexpr std::size_t kLongest = 5;
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view suffix = name.substr(dot + 1);
  return suffix.size() > 1 && suffix.size() <= kLongest &&
         std::ranges::all_of(suffix, [](char c) { return c >= 'a' && c <= 'z'; });
}

/// `is_value`: of a flag, where a relative path of a file is one too.
bool is_path(std::string_view word, bool is_value) {
  if (starts_as_path(word)) return true;
  if (word.find("://") != std::string_view::npos) return false;  // a link
  const bool is_file = is_value && word.find('/') != std::string_view::npos &&
                       word.find(" -") == std::string_view::npos && has_suffix(last_name(word));
  return is_file || word.find("/../") != std::string_view::npos ||
         word.find(":/") != std::string_view::npos;
}

/// The text in the quotes that open at `at`, without a leading "--flag=": a path there may have
/// spaces. Empty if no quotes open.
std::string_view quoted_at(std::string_view text, std::size_t at) {
  if (text[at] != '\'' && text[at] != '"') return {};
  constexpr std::string_view kQuote = "'\\''";  // a quote within single quotes, as shells write it
  auto end = text.find(text[at], at + 1);
  while (end != std::string_view::npos && text.substr(end).starts_with(kQuote)) {
    end = text.find(text[at], end + kQuote.size());
  }
  if (end == std::string_view::npos) return {};
  const std::string_view quoted = text.substr(at + 1, end - at - 1);
  const auto value = quoted.starts_with("--") ? quoted.find('=') : std::string_view::npos;
  return value == std::string_view::npos ? quoted : quoted.substr(value + 1);
}

/// Whether the text is a path, perhaps with spaces, and nothing else: a message has words after a
/// path, a command line has flags, and a file has a suffix, which "tokens/s" lacks.
bool is_one_path(const std::string& text) {
  return starts_as_path(text) && last_name(text).find('.') != std::string_view::npos &&
         text.find(": ") == std::string::npos &&
         text.find_first_of("\n(='\"") == std::string::npos &&
         text.find(" /") == std::string::npos && text.find(" -") == std::string::npos;
}

}  // namespace

std::string without_paths(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::size_t at = 0;
  bool after_flag = false;
  while (at < text.size()) {
    const std::string_view quoted = quoted_at(text, at);
    if (is_path(quoted, after_flag || text.substr(at + 1).starts_with("--"))) {
      const auto begin = static_cast<std::size_t>(quoted.data() - text.data());
      result += text.substr(at, begin - at);
      result += last_name(quoted);
      at = begin + quoted.size();
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
    result += is_path(word, after_flag) ? last_name(word) : word;
    after_flag = word.starts_with("--");
    at = end;
  }
  return result;
}

Json without_paths_in(const Json& json) {
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    return is_one_path(text) ? std::string(last_name(text)) : without_paths(text);
  }
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
