#include "base/io/json_reason.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace roofcast {
namespace {

constexpr std::size_t kLongestReason = 160;

/// The parser's words and ours. Of two that begin at one place the longer comes first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWords = {{
    {"unexpected end of input", "the text ends too early"},
    {"unexpected string literal", "unexpected text in quotes"},
    {"unexpected number literal", "unexpected number"},
    {"invalid literal; last read: ", "cannot read "},
    {"expected '[', '{', or a literal", "expected a value"},
    {"expected string literal", "expected a key in quotes"},
    {"expected end of input", "expected the end of the text"},
    {"; expected '}'", ", expected ',' or '}'"},
    {"; expected ']'", ", expected ',' or ']'"},
}};

void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

}  // namespace

std::string json_place(std::string_view what) {
  const std::size_t at = what.find("at line ");
  if (at == std::string_view::npos) return "";
  const std::string_view place = what.substr(at + std::string_view("at ").size());
  return std::string(place.substr(0, place.find(':')));
}

std::string json_reason(std::string_view what) {
  for (const std::string_view marker : {" - ", "] "}) {
    const std::size_t found = what.find(marker);
    if (found == std::string_view::npos) continue;
    what.remove_prefix(found + marker.size());
    break;
  }
  std::string reason(what);
  for (const auto& [theirs, ours] : kWords) replace(reason, theirs, ours);
  replace(reason, "; expected", ", expected");
  replace(reason, "; last read: ", ", at ");
  replace(reason, "number overflow parsing ", "too large a number, ");
  std::replace_if(
      reason.begin(), reason.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (reason.size() > kLongestReason) reason = reason.substr(0, kLongestReason) + "...";
  return reason;
}

std::string json_problem(std::string_view what) {
  const std::string place = json_place(what);
  return place.empty() ? json_reason(what) : place + ": " + json_reason(what);
}

}  // namespace roofcast
