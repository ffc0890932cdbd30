// Simulated time: integer nanoseconds, so that sums do not depend on their order.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace roofcast {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

/// Rounds to the nearest nanosecond, halves away from zero. The only place where Seconds become
/// simulated time. Precondition: finite and within +-292 years.
Nanoseconds to_nanoseconds(Seconds seconds);

Seconds to_seconds(Nanoseconds time);

}  // namespace roofcast
