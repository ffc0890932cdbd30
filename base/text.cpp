#include "base/text.hpp"

#include <algorithm>

namespace roofcast {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_plain(char c) { return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9'); }

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = lower(letter);
  return result;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = upper(letter);
  return result;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string joined(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view& name : names) {
    if (&name != names.data()) text += &name == &names.back() ? " or " : ", ";
    text += name;
  }
  return text;
}

std::string in_single_quotes(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
    } else {
      result += letter;
    }
  }
  return result;
}

bool is_time(std::string_view figure) {
  return figure.ends_with("_s") && !figure.ends_with("_per_s");
}

std::string with_dashes(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

std::optional<bool> switch_named(std::string_view text) {
  for (const char* yes : {"true", "1", "on", "yes"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "0", "off", "no"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::string release_of(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  if (version.empty() || version.front() == '.') return "";
  version = version.substr(0, version.find_first_not_of("0123456789."));
  version = version.substr(0, version.find(".."));
  if (version.ends_with('.')) version.remove_suffix(1);
  return std::string(version);
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain = "-_./:=,+@%";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return is_plain(c) || kPlain.find(c) != std::string_view::npos;
  });
  return plain ? std::string(word) : "'" + in_single_quotes(word) + "'";
}

std::string letters_and_digits(std::string_view text) {
  std::string result = lower(text);
  std::erase_if(result, [](char c) { return !is_plain(c); });
  return result;
}

std::string slug(std::string_view text, char separator) {
  std::string result;
  for (const char letter : text) {
    if (is_plain(letter)) {
      result += lower(letter);
    } else if (!result.empty() && result.back() != separator) {
      result += separator;
    }
  }
  while (result.ends_with(separator)) result.pop_back();
  return result;
}

}  // namespace roofcast
