#include "model/io/json_line.hpp"

#include <algorithm>

#include "base/quantity.hpp"

namespace roofcast {

namespace {

/// Walks over JSON that has been parsed before, so it only distinguishes strings from structure.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  std::size_t position() const { return at_; }

  /// Moves to the value of `key` in the object that starts here; false if there is none.
  bool enter_object(std::string_view key) {
    if (!open('{')) return false;
    while (peek() == '"') {
      const std::size_t start = at_ + 1;
      skip_text();
      const std::string_view name = text_.substr(start, at_ - 1 - start);
      skip_one(':');
      if (name == key) return true;
      skip_value();
      skip_one(',');
    }
    return false;
  }

  /// Moves to element number `index` of the list that starts here.
  bool enter_list(std::size_t index) {
    if (!open('[')) return false;
    for (; index > 0 && peek() != ']' && at_ < text_.size(); --index) {
      skip_value();
      skip_one(',');
    }
    return index == 0 && peek() != ']';
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void skip_one(char expected) {
    if (peek() == expected) ++at_;
    peek();
  }
  bool open(char bracket) {
    if (peek() != bracket) return false;
    ++at_;
    return true;
  }
  void skip_text() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_value() {
    std::size_t depth = 0;
    do {
      const char next = peek();
      if (next == '"') {
        skip_text();
      } else if (next == '{' || next == '[') {
        ++depth;
        ++at_;
      } else if (next == '}' || next == ']') {
        --depth;
        ++at_;
      } else if (depth > 0 && (next == ',' || next == ':')) {
        ++at_;
      } else {  // a number or a word
        at_ = std::min(text_.find_first_of(",:]} \t\r\n", at_), text_.size());
      }
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t line_of(std::string_view text, std::string_view path) {
  Walker walker(text);
  while (!path.empty()) {
    if (path.front() == '[') {
      const std::size_t close = path.find(']');
      if (close == path.npos) return 0;
      const auto index = to_number<std::uint64_t>(path.substr(1, close - 1));
      if (!walker.enter_list(index.value_or(0))) return 0;
      path.remove_prefix(close + 1);
      if (!path.empty() && path.front() == '.') path.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    if (!walker.enter_object(path.substr(0, end))) return 0;
    path.remove_prefix(end);
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  }
  const auto before = text.substr(0, walker.position());
  return static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
}

}  // namespace roofcast
