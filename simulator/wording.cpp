#include "simulator/wording.hpp"

namespace roofcast {

std::string counted(std::int64_t number, std::string_view noun) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  text.push_back(' ');
  text.append(noun);
  if (number != 1) text.push_back('s');
  return text;
}

}  // namespace roofcast
