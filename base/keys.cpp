#include "base/keys.hpp"

namespace roofcast {

std::string with_keys(std::string_view message, std::string (*spelled)(std::string_view key)) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string result;
  while (!message.empty()) {
    const std::size_t open = message.find('`');
    result += message.substr(0, open);
    if (open == std::string_view::npos) break;
    message.remove_prefix(open + 1);
    const std::size_t size = message.find_first_not_of(kRest);
    const bool is_key = size != std::string_view::npos && size > 0 && message[size] == '`' &&
                        kLetters.find(message.front()) != std::string_view::npos;
    result += is_key ? spelled(message.substr(0, size)) : "`";
    if (is_key) message.remove_prefix(size + 1);
  }
  return result;
}

}  // namespace roofcast
