#include "reports/pages/html_text.hpp"

namespace roofcast {
namespace {

constexpr auto kReplace = Json::error_handler_t::replace;

/// The text with bytes that are not UTF-8 replaced.
std::string valid_utf8(std::string_view text) {
  return Json::parse(Json(std::string(text)).dump(-1, ' ', false, kReplace)).get<std::string>();
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : valid_utf8(text)) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // HTML and SVG allow no other control characters, not even escaped.
        if (static_cast<unsigned char>(letter) < ' ' && letter != '\t' && letter != '\n') {
          escaped += "\xEF\xBF\xBD";  // U+FFFD
        } else {
          escaped += letter;
        }
    }
  }
  return escaped;
}

std::string html_sentence(std::string_view text) {
  const std::string escaped = html_escaped(text);
  std::string sentence;
  std::size_t from = 0;
  for (;;) {
    const std::size_t open = escaped.find('`', from);
    const std::size_t close = open == std::string::npos ? open : escaped.find('`', open + 1);
    if (close == std::string::npos) return sentence.append(escaped, from);
    sentence.append(escaped, from, open - from);
    sentence += "<code>" + escaped.substr(open + 1, close - open - 1) + "</code>";
    from = close + 1;
  }
}

std::string json_in_script(const Json& json) {
  std::string escaped;
  for (const char letter : json.dump(-1, ' ', false, kReplace)) {
    // In JSON, '<' occurs only inside strings.
    if (letter == '<') {
      escaped += "\\u003c";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

}  // namespace roofcast
