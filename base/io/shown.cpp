#include "base/io/shown.hpp"

namespace roofcast {

std::string shown(std::string_view text, std::size_t longest) {
  std::string result(text.substr(0, longest));
  const auto is_plain = [](char letter) { return letter >= ' ' && letter <= '~'; };
  for (char& letter : result) {
    if (!is_plain(letter)) letter = '?';
  }
  if (text.size() > longest) result += "...";
  return result;
}

}  // namespace roofcast
