#include "serve/without_paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"

namespace roofcast {
namespace {

/// What may stand around a path in a message or a command line.
bool is_boundary(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\'' || letter == '"' ||
         letter == '=' || letter == '(' || letter == ')' || letter == ',' || letter == ';' ||
         letter == '@' || letter == '<' || letter == '>';
}

/// "/s", "/h" and "/month" are units: a path has another '/', in its first word.
bool starts_absolute(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  return word.size() > 2 && word[0] == '/' && word.find('/', 1) != std::string_view::npos;
}

/// As no name of a model and no unit begins.
bool starts_as_path(std::string_view text) {
  if (text.size() < 2) return false;
  const bool drive = text.size() > 2 && text[1] == ':' && text[2] == '\\';
  const bool absolute = starts_absolute(text);
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

/// What the quotes that open at `at` hold, after "--flag=" where that stands first: a path there
/// may have spaces. Empty where there are none.
std::string_view quoted_at(std::string_view text, std::size_t at) {
  if (text[at] != '\'' && text[at] != '"') return {};
  const auto end = text.find(text[at], at + 1);
  if (end == std::string_view::npos) return {};
  const std::string_view quoted = text.substr(at + 1, end - at - 1);
  const auto value = quoted.starts_with("--") ? quoted.find('=') : std::string_view::npos;
  return value == std::string_view::npos ? quoted : quoted.substr(value + 1);
}

void add_known(KnownPaths& known, const std::string& path, const std::string& name) {
  if (path.find('/') == std::string::npos || path.size() < 2) return;  // hides nothing
  known.emplace_back(path, name);
  if (const std::string quoted = in_single_quotes(path); quoted != path)
    known.emplace_back(quoted, name);
}

/// Whether `path` stands at `at` as a path of its own, not as a part of another name.
bool stands_alone(std::string_view text, std::size_t at, std::size_t size) {
  const bool begins = at == 0 || text[at - 1] == ':' || is_boundary(text[at - 1]);
  const std::size_t end = at + size;
  return begins && (end == text.size() || text[end] == '/' || text[end] == ':' ||
                    text[end] == '.' || text[end] == '-' || is_boundary(text[end]));
}

std::string without_known(std::string text, const KnownPaths& known) {
  for (const auto& [path, name] : known) {
    for (auto at = text.find(path); at != std::string::npos; at = text.find(path, at)) {
      if (!stands_alone(text, at, path.size())) {
        at += path.size();
        continue;
      }
      const bool holds_more = text.compare(at + path.size(), 1, "/") == 0;
      const std::string instead = holds_more ? "" : name;
      text.replace(at, path.size() + (holds_more ? 1 : 0), instead);
      at += instead.size();
    }
  }
  return text;
}

std::string without_guessed(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    if (const std::string_view quoted = quoted_at(text, at); is_path(quoted)) {
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
    result += is_path(word) ? last_name(word) : word;
    at = end;
  }
  return result;
}

/// A message has words after a path, a command line has flags; a file with spaces in its path has a
/// suffix, which "tokens/s" has not.
bool is_one_path(const std::string& text) {
  return starts_as_path(text) && last_name(text).find('.') != std::string_view::npos &&
         text.find(": ") == std::string::npos &&
         text.find_first_of("\n(='\"") == std::string::npos &&
         text.find(" /") == std::string::npos && text.find(" -") == std::string::npos;
}

std::string value_without_paths(const std::string& text, const KnownPaths& known) {
  const std::string left = without_known(text, known);
  return is_one_path(left) ? std::string(last_name(left)) : without_guessed(left);
}

}  // namespace

KnownPaths known_paths(const std::string& path) {
  namespace fs = std::filesystem;
  KnownPaths known;
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored);
  const std::string name = whole.filename().string();
  for (const fs::path& one : {fs::path(path), whole, whole.lexically_normal()}) {
    add_known(known, one.string(), name);
    const fs::path folder = one.parent_path();
    add_known(known, folder.string(), folder.filename().string());
  }
  add_known(known, fs::current_path(ignored).string(), ".");
  if (const char* home = std::getenv("HOME"); home != nullptr) add_known(known, home, "~");
  std::stable_sort(known.begin(), known.end(), [](const auto& one, const auto& other) {
    return one.first.size() > other.first.size();
  });
  return known;
}

std::string without_paths(std::string_view text, const KnownPaths& known) {
  return without_guessed(without_known(std::string(text), known));
}

Json without_paths_in(const Json& json, const KnownPaths& known) {
  if (json.is_string()) return value_without_paths(json.get_ref<const std::string&>(), known);
  if (json.is_array()) {
    Json result = Json::array();
    for (const Json& value : json) result.push_back(without_paths_in(value, known));
    return result;
  }
  if (!json.is_object()) return json;
  Json result = Json::object();
  for (const auto& item : json.items()) {
    result[without_paths(item.key(), known)] = without_paths_in(item.value(), known);
  }
  return result;
}

}  // namespace roofcast
