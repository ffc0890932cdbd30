#include "base/wording.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace roofcast {

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", with_separators(number), noun, number == 1 ? "" : "s");
}

}  // namespace roofcast
