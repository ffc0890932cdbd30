// Times a list of cases one after the other: within a time budget, with a sentinel in between for
// the drift, and bimodal points once more at the end; collectives behind the others.
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
  double collective_budget_s = 20;  // beside the other, where collectives are planned
  /// Cases that a rough guess, or a smaller size of the same curve, puts above this are left out.
  double max_call_s = 0.25;
  int sentinel_every = 100;  // points
  /// A source that took this many times as long as another at a smaller size of the same shape is
  /// not timed at larger ones. 0: every source at every size.
  double outrun = 0;
  /// Share of the budget that is kept for points to be timed again.
  double share_for_again = 0.1;
};

/// What a sweep tells while it runs, and asks. All may be absent but `now_s`.
struct SweepHooks {
  std::function<double()> now_s{};                   // a clock that only grows
  std::function<void(const TimedCase&)> on_timed{};  // in order of time
  std::function<bool(int done, int total)> go_on{};  // false: stop as soon as possible
};

enum class SweepEnd { complete, out_of_time, interrupted, device_lost };

struct SweepResult {
  std::vector<TimedCase> timed{};       // each case once, the better of two timings; the sentinel's
                                        // first visit
  std::vector<TimedSample> drift{};     // the sentinel's, one median a visit
  std::vector<std::string> too_long{};  // left out, by name
  std::vector<std::string> failed{};    // "NAME: WHY"
  int not_reached = 0;                  // cases that the budget did not reach
  int outrun = 0;                       // cases left out because another source is faster by far
  SweepEnd end = SweepEnd::complete;
  std::string fault{};  // device_lost: what the device said last
};

/// What is timed.
struct SweepPlan {
  std::vector<CalibrationCase> ceilings{};  // first, whatever the budget
  CalibrationCase sentinel{};
  std::vector<CalibrationCase> cases{};        // in this order
  std::vector<CalibrationCase> collectives{};  // behind them
  /// By name: timings of an earlier, interrupted sweep, taken over.
  std::map<std::string, Timing> known{};
};

/// A case that fails is noted and left out; when several in a row do, or the last, and the device
/// does not even run a kernel that does nothing, it is lost, and the sweep ends. `collectives` may
/// be null where none are planned.
SweepResult run_sweep(Timer& timer, Operands& operands, const SweepPlan& plan,
                      const SweepOptions& options, const SweepHooks& hooks,
                      CollectiveTimer* collectives = nullptr);

}  // namespace roofcast
