// Sanitises names from files for one-line error messages.
#pragma once

#include <string>
#include <string_view>

namespace roofcast {

/// 'text' in quotes, control characters as '?', cut after 80 characters.
inline std::string quoted_name(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "'";
  for (const char letter : text.substr(0, kLongest)) {
    const auto code = static_cast<unsigned char>(letter);
    result += code < 0x20 || code == 0x7f ? '?' : letter;
  }
  result += text.size() > kLongest ? "...'" : "'";
  return result;
}

}  // namespace roofcast
