#include "planner/launch/serve_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

/// Removes a comment: a # at the start or after a blank.
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

/// Bracket depth after `text`, ignoring brackets in quotes.
int depth_after(std::string_view text, int depth = 0) {
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return depth;
}

using Values = std::vector<std::pair<std::string, std::string>>;

/// Position of `wanted` outside quotes and brackets; the length if it is not found.
std::size_t find_outside(std::string_view text, char wanted) {
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == wanted && depth == 0) return i;
    if (c == '"' || c == '\'') quote = c;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  return text.size();
}

/// A key whose value is on further-indented lines of its own.
struct Section {
  std::size_t indent = 0;
  std::string path{};
  bool filled = false;
};

/// The lines of one text, and the values read so far.
class YamlReader {
 public:
  YamlReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Values read() {
    while (next_line()) read_line();
    close_sections(0);
    return std::move(values_);
  }

 private:
  bool next_line() {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = without_comment(text_.substr(at_, end - at_));
    at_ = end + 1;
    ++number_;
    return true;
  }

  [[noreturn]] void refuse(std::size_t number, const char* expected) const {
    throw Error(fmt::format("{}: line {}: expected {}", where_, number, expected));
  }

  /// A key with no value and nothing below it is null.
  void close_sections(std::size_t indent) {
    while (!open_.empty() && open_.back().indent >= indent) {
      if (!open_.back().filled) values_.emplace_back(open_.back().path, "null");
      open_.pop_back();
    }
  }

  void read_line() {
    const std::string_view content = trimmed(line_);
    if (content.empty() || content == "---") return;
    const std::size_t indent = line_.find_first_not_of(" \t");
    if (content.starts_with("-")) {
      add_item(trimmed(content.substr(1)));
      return;
    }
    close_sections(indent);
    const std::size_t colon = content.find(':');
    if (colon == std::string_view::npos || colon == 0) refuse(number_, "'key: value'");
    const std::string key(unquoted(trimmed(content.substr(0, colon))));
    const std::string path = open_.empty() ? key : open_.back().path + "." + key;
    if (!open_.empty()) open_.back().filled = true;
    const std::string_view value = trimmed(content.substr(colon + 1));
    if (value.empty()) {
      open_.push_back({.indent = indent, .path = path});
    } else {
      values_.emplace_back(path, unquoted(trimmed(whole(std::string(value)))));
    }
  }

  /// "- 8" continues the list of the last key; a list has no keys.
  void add_item(std::string_view item) {
    if (open_.empty()) return;
    open_.back().filled = true;
    const std::string& path = open_.back().path;
    if (values_.empty() || values_.back().first != path) values_.emplace_back(path, "");
    std::string& list = values_.back().second;
    list += (list.empty() ? "" : ",") + std::string(item);
  }

  /// The value, with following lines up to its closing bracket.
  std::string whole(std::string value) {
    if (value.front() != '{' && value.front() != '[') return value;
    const std::size_t first = number_;
    int depth = depth_after(value);
    while (depth > 0) {
      if (!next_line()) refuse(first, "closing brackets");
      depth = depth_after(line_, depth);
      value += ' ';
      value += trimmed(line_);
    }
    return value;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
  std::string_view line_{};
  std::vector<Section> open_{};
  Values values_{};
};

}  // namespace

Values read_serve_yaml(std::string_view text, const std::string& where) {
  return YamlReader(text, where).read();
}

std::optional<Values> inline_map(std::string_view value) {
  if (!value.starts_with("{") || !value.ends_with("}")) return std::nullopt;
  std::string_view rest = trimmed(value.substr(1, value.size() - 2));
  Values values;
  while (!rest.empty()) {
    const std::size_t comma = find_outside(rest, ',');
    const std::string_view entry = trimmed(rest.substr(0, comma));
    rest = comma < rest.size() ? trimmed(rest.substr(comma + 1)) : std::string_view{};
    const std::size_t colon = find_outside(entry, ':');
    if (colon == entry.size() || colon == 0) return std::nullopt;
    const std::string_view said = trimmed(entry.substr(colon + 1));
    values.emplace_back(unquoted(trimmed(entry.substr(0, colon))),
                        said.empty() ? "null" : unquoted(said));
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
