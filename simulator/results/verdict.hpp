// Whether a simulated load holds what was promised, by how much, and what is nearest to failing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/results/result.hpp"

namespace roofcast {

/// One percentile target of the SLO beside what was achieved.
struct TargetMargin {
  std::string what{};  // "p95 ttft", "p95 ttft of chat"
  double limit_s = 0;
  double achieved_s = 0;  // 0 when nothing was measured
  double margin = 0;      // (limit - achieved) / limit; below 0 exactly when it is missed
};

/// What holding means beyond the targets of the SLO.
struct SloRequirement {
  /// Of the requests, within all goodput limits of the SLO; unset: not required.
  std::optional<double> min_goodput_share{};
};

struct SloVerdict {
  bool holds = false;  // all targets met, goodput enough, not saturated, something served
  bool saturated = false;
  std::int64_t unserved = 0;  // rejected, lost or unfinished; the targets count them as late
  std::vector<TargetMargin> margins{};
  std::string binding{};    // the target that is nearest to failing or fails by most, "goodput", or
                            // "saturated: ..." with the numbers behind it; empty without promises
  double worst_margin = 0;  // the smallest; below 0 exactly when it does not hold
  std::optional<double> goodput_share{};
};

/// The margin of what no number of seconds describes: a percentile that falls on requests without
/// service, a load beyond saturation, whose latencies tell how long the run was. As a latency of
/// twice the limit.
inline constexpr double kMarginWithoutService = -1;

/// Judges a result. Without any promise a load holds as long as the engine keeps up. A run that was
/// stopped does not hold. Throws Error when a goodput share is required of a result without goodput
/// limits.
SloVerdict judge(const SimulationResult& result, const SloRequirement& requirement = {});

}  // namespace roofcast
