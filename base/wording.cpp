#include "base/wording.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"
#include "base/statistics.hpp"

namespace roofcast {

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", with_separators(number), noun, number == 1 ? "" : "s");
}

std::string interval_percent() { return as_percent(kIntervalShare, 0); }

}  // namespace roofcast
