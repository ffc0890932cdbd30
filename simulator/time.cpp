#include "simulator/time.hpp"

#include <cassert>
#include <cmath>

namespace roofcast {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

}  // namespace

Nanoseconds to_nanoseconds(Seconds seconds) {
  assert(std::abs(seconds.value) < 9.2e9);
  return std::llround(seconds.value * kNanosecondsPerSecond);
}

Seconds to_seconds(Nanoseconds time) {
  return Seconds{static_cast<double>(time) / kNanosecondsPerSecond};
}

}  // namespace roofcast
