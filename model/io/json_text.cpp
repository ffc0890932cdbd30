#include "model/io/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/json_reason.hpp"
#include "base/text.hpp"

namespace roofcast {

namespace {

// Quantisation lists of large mixture-of-experts models reach 3 MB; this is far beyond any known.
constexpr std::uintmax_t kLargestFile = 256u << 20;

constexpr std::array<std::string_view, 3> kNonFinite = {"-Infinity", "Infinity", "NaN"};

/// The text with non-finite literals quoted, and the original positions of its bytes.
struct Rewritten {
  std::string text;
  std::vector<std::size_t> quotes;  // positions in `text` of the added quotes

  std::size_t original_position(std::size_t position) const {
    const auto added = std::lower_bound(quotes.begin(), quotes.end(), position) - quotes.begin();
    return position - std::min(position, static_cast<std::size_t>(added));
  }
};

/// Length of the string literal or comment at `at`; 0 if there is neither.
std::size_t opaque_length(std::string_view text, std::size_t at) {
  if (text[at] == '"') {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size()) - at;
  }
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size()) - at;
  if (text.substr(at, 2) == "/*") {
    const std::size_t end = text.find("*/", at + 2);
    return (end == std::string_view::npos ? text.size() : end + 2) - at;
  }
  return 0;
}

std::string_view non_finite_at(std::string_view text, std::size_t at) {
  for (const std::string_view literal : kNonFinite) {
    if (text.substr(at, literal.size()) == literal) return literal;
  }
  return {};
}

Rewritten quote_non_finite(std::string_view text) {
  Rewritten out;
  out.text.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t opaque = opaque_length(text, at);
    const std::string_view literal = opaque == 0 ? non_finite_at(text, at) : std::string_view{};
    if (literal.empty()) {
      out.text.append(text.substr(at, std::max<std::size_t>(opaque, 1)));
      at += std::max<std::size_t>(opaque, 1);
      continue;
    }
    out.quotes.push_back(out.text.size());
    out.text += '"';
    out.text += literal;
    out.quotes.push_back(out.text.size());
    out.text += '"';
    at += literal.size();
  }
  return out;
}

std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return fmt::format("{}:{}", line, std::max<std::size_t>(column, 1));
}

}  // namespace

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  const std::string_view body = without_byte_order_mark(text);
  const Rewritten rewritten = quote_non_finite(body);
  constexpr bool kIgnoresComments = true;
  try {
    return parse_bounded<nlohmann::json>(rewritten.text, where, RepeatedKeys::last_wins,
                                         kIgnoresComments);
  } catch (const nlohmann::json::parse_error& e) {
    const std::string place = line_and_column(body, rewritten.original_position(e.byte));
    throw Error(fmt::format("{}:{}: not valid JSON: {}", where, place, json_reason(e.what())));
  } catch (const nlohmann::json::exception& e) {
    throw Error(fmt::format("{}: not valid JSON: {}", where, json_reason(e.what())));
  }
}

std::string read_text_file(const std::string& path) {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  if (failure) throw Error(fmt::format("{}: cannot read: {}", path, failure.message()));
  if (size > kLargestFile) {
    throw Error(fmt::format("{}: {} MiB is too large for a JSON file", path, size >> 20));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (size > 0) text << file.rdbuf();
  if (!file || !text) throw Error(fmt::format("{}: cannot read", path));
  return std::move(text).str();
}

}  // namespace roofcast
