// Limits on workloads. They far exceed any model, machine or recording, so larger values are input
// errors.
#pragma once

#include <cstdint>

#include "simulator/time.hpp"

namespace roofcast {

/// Longest prompt or output.
inline constexpr std::int64_t kMaxTokens = 10'000'000;

/// Longest time from first to last arrival.
inline constexpr Nanoseconds kLongestSpan = 10LL * 365 * 86'400 * 1'000'000'000;  // ten years

/// Gamma shape of gaps: below it nearly every gap is 0 and a single one makes up the total.
inline constexpr double kMinBurstiness = 1e-3;

/// Sigma of lognormal draws: at this value they span more than eight orders of magnitude.
inline constexpr double kMaxSigma = 10;

/// Number of requests drawn; more would take over 15 GB of state.
inline constexpr std::int64_t kMaxRequests = 100'000'000;

}  // namespace roofcast
