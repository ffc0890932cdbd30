// Times a list of cases in order: within a time budget, with a sentinel in between to detect drift,
// and bimodal points once more at the end; collectives come last.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "calibrate/collective_timer.hpp"
#include "calibrate/operands.hpp"
#include "calibrate/timer.hpp"

namespace roofcast {

struct TimedCase {
  CalibrationCase c{};
  Timing timing{};
  bool again = false;  // timed once more at the end of the sweep, because it was bimodal
};

struct SweepOptions {
  double budget_s = 60;
  double collective_budget_s = 20;  // in addition, if collectives are planned
  /// Cases above this are left out, judged by a rough estimate or a smaller size of the same curve.
  double max_call_s = 0.25;
  int sentinel_every = 100;  // points
  /// A source that took this many times as long as another at a smaller size of the same shape is
  /// not timed at larger ones. 0: time every source at every size.
  double outrun = 0;
  /// Share of the budget reserved for points to be timed again.
  double share_for_again = 0.1;
};

/// Callbacks of a sweep. All except `now_s` may be empty.
struct SweepHooks {
  std::function<double()> now_s{};                   // a monotonic clock
  std::function<void(const TimedCase&)> on_timed{};  // in order of time
  std::function<bool(int done, int total)> go_on{};  // return false to stop as soon as possible
};

enum class SweepEnd { complete, out_of_time, interrupted, device_lost };

struct SweepResult {
  std::vector<TimedCase> timed{};       // each case once, the better of two timings; the
                                        // sentinel's first run
  std::vector<TimedSample> drift{};     // the sentinel's, one median per run
  std::vector<std::string> too_long{};  // names of cases left out as too long
  std::vector<std::string> failed{};    // "NAME: WHY"
  int not_reached = 0;                  // cases beyond the budget
  int outrun = 0;                       // cases left out because another source is much faster
  SweepEnd end = SweepEnd::complete;
  std::string fault{};  // if device_lost: the device's last message
};

/// Cases to time.
struct SweepPlan {
  std::vector<CalibrationCase> ceilings{};  // first, regardless of the budget
  CalibrationCase sentinel{};
  std::vector<CalibrationCase> cases{};        // in this order
  std::vector<CalibrationCase> collectives{};  // after the others
  /// Timings by name, reused from an interrupted sweep.
  std::map<std::string, Timing> known{};
};

/// A case that fails is noted and left out. If several fail in a row, or the last one does, and the
/// device cannot run even an empty kernel, it is considered lost and the sweep ends. `collectives`
/// may be null if none are planned.
SweepResult run_sweep(Timer& timer, Operands& operands, const SweepPlan& plan,
                      const SweepOptions& options, const SweepHooks& hooks,
                      CollectiveTimer* collectives = nullptr);

}  // namespace roofcast
