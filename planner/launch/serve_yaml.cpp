#include "planner/launch/serve_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/error.hpp"

namespace roofcast {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Without a comment: a # at the start or after a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ')) return line.substr(0, i);
  }
  return line;
}

std::string_view unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == value.back() &&
                      (value.front() == '"' || value.front() == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// A key whose value is on lines of its own, further in.
struct Section {
  std::size_t indent = 0;
  std::string path{};
};

using Values = std::vector<std::pair<std::string, std::string>>;

/// "- 8" continues the list that the last key began; a list has no keys.
void add_item(Values& values, const std::vector<Section>& open, std::string_view item) {
  if (open.empty()) return;
  const std::string& path = open.back().path;
  if (values.empty() || values.back().first != path) values.emplace_back(path, "");
  std::string& list = values.back().second;
  list += (list.empty() ? "" : ",") + std::string(item);
}

}  // namespace

Values read_serve_yaml(std::string_view text, const std::string& where) {
  Values values;
  std::vector<Section> open;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = without_comment(text.substr(at, end - at));
    at = end + 1;
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content == "---") continue;
    const std::size_t indent = line.find_first_not_of(" \t");
    if (content.starts_with("-")) {
      add_item(values, open, trimmed(content.substr(1)));
      continue;
    }
    while (!open.empty() && open.back().indent >= indent) open.pop_back();
    const std::size_t colon = content.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      throw Error(fmt::format("{}: line {}: expected 'key: value'", where, number));
    }
    const std::string key(unquoted(trimmed(content.substr(0, colon))));
    const std::string path = open.empty() ? key : open.back().path + "." + key;
    const std::string_view value = trimmed(content.substr(colon + 1));
    if (value.empty()) {
      open.push_back({.indent = indent, .path = path});
    } else {
      values.emplace_back(path, unquoted(value));
    }
  }
  return values;
}

std::string write_serve_yaml(const Values& values) {
  std::string text;
  std::string section;
  for (const auto& [path, value] : values) {
    const std::size_t dot = path.find('.');
    const std::string head = dot == std::string::npos ? "" : path.substr(0, dot);
    if (!head.empty() && head != section) text += head + ":\n";
    section = head;
    if (head.empty()) {
      text += fmt::format("{}: {}\n", path, value);
    } else {
      text += fmt::format("  {}: {}\n", path.substr(dot + 1), value);
    }
  }
  return text;
}

}  // namespace roofcast
