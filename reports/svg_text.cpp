#include "reports/svg_text.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

namespace roofcast {
namespace {

/// U+FFFD for what is no UTF-8: the JSON writer knows how.
std::string valid_utf8(const std::string& text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

/// U+FFFE and U+FFFF are UTF-8 and no XML (XML 1.0, 2.2).
bool is_no_character(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

}  // namespace

std::string svg_escaped(const std::string& text) {
  const std::string valid = valid_utf8(text);
  std::string result;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const char letter = valid[i];
    if (is_no_character(std::string_view(valid).substr(i))) {
      result += '?';
      i += 2;
      continue;
    }
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(letter) < ' ' || letter == '\x7F' ? ' ' : letter;
    }
  }
  return result;
}

}  // namespace roofcast
