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
  /// Whether the engine has to keep up where nothing is promised: what a search for the most load
  /// asks. With a promise it always has to, since latencies beyond saturation grow as long as the
  /// load lasts.
  bool must_keep_up = false;
};

struct SloVerdict {
  bool holds = false;         // all that is promised is kept, and something is served
  bool saturated = false;     // then no promise is kept
  std::int64_t unserved = 0;  // rejected, lost or unfinished; the targets count them as late
  std::vector<TargetMargin> margins{};
  std::string binding{};    // the target that is nearest to failing or fails by most, "goodput", or
                            // "saturated: ..." with the numbers behind it; empty when it holds
                            // without promises
  double worst_margin = 0;  // the smallest; below 0 exactly when it does not hold
  std::optional<double> goodput_share{};
};

/// The margin of what no number of seconds describes: a percentile that falls on requests without
/// service, a load beyond saturation, whose latencies tell how long the run was. As a latency of
/// twice the limit.
inline constexpr double kMarginWithoutService = -1;

/// Decides whether a result holds what was promised: the one place where that is decided. Promises
/// are the SLO's targets, and a goodput share where one is required; where there are none, any
/// result holds that serves something (and keeps up, where that is required). A run that was
/// stopped does not hold. Throws Error when a goodput share is required of a result without goodput
/// limits.
SloVerdict judge(const SimulationResult& result, const SloRequirement& requirement = {});

/// Why it does not hold, in words: "1 of 2 targets missed", "saturated, its latencies grow as long
/// as the load lasts". Empty where it holds.
std::string why_not(const SloVerdict& verdict);

}  // namespace roofcast
