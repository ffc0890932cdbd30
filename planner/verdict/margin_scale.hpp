// The scale on which searches interpolate a verdict's margin.
#pragma once

#include <algorithm>
#include <cmath>

namespace roofcast {

/// log(limit / achieved) of a margin (limit - achieved) / limit: latencies grow by factors, so that
/// this is nearer to a straight line than the margin. Negative exactly if the margin is; finite
/// also for a margin of 1, of which only the sign counts.
inline double log_room(double margin) {
  constexpr double kMinAchieved = 1e-2;  // of the limit
  return margin < 0 ? -std::log1p(-margin) : -std::log(std::max(kMinAchieved, 1 - margin));
}

}  // namespace roofcast
