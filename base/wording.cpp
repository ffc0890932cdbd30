#include "base/wording.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/numbers.hpp"

namespace roofcast {
std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", with_separators(number), noun, number == 1 ? "" : "s");
}

std::string duration(double seconds) {
  // Bounds below which three digits do not round up to the next unit.
  constexpr double kMilliseconds = 0.9995;
  constexpr double kWhole = 99.95;
  if (seconds < kMilliseconds) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < kWhole) return fmt::format("{:.3g} s", seconds);
  return with_separators(std::llround(seconds)) + " s";
}

}  // namespace roofcast
