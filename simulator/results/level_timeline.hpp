// Running and waiting requests and KV cache use over a run, reduced to few enough intervals to
// plot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/time.hpp"

namespace roofcast {

/// Levels at one time, over all engines together.
struct Levels {
  std::int64_t running = 0;
  std::int64_t waiting = 0;  // in all queues, the router's included
  double kv_use = 0;         // share of usable blocks
  double kv_empty = 0;       // allocated without K and V, as a share of the same
};

/// Intervals of equal length from time 0, each with the maximum of every level in it. The length
/// doubles as the run goes on. Levels that last for zero time do not count.
class LevelTimeline {
 public:
  static constexpr std::size_t kMaxStretches = 400;

  /// Levels change to these at `now`. Calls must be in order of time.
  void record(Nanoseconds now, const Levels& levels);
  /// Ends the run at `now`.
  void end(Nanoseconds now) { record(now, now_); }

  Nanoseconds stretch() const { return width_; }
  const std::vector<Levels>& max() const { return max_; }  // one entry per interval

 private:
  void hold(Nanoseconds from, Nanoseconds until);
  void widen();

  // 1 ms: shorter than any engine step.
  Nanoseconds width_ = 1'000'000;
  Nanoseconds since_ = 0;
  Levels now_{};
  std::vector<Levels> max_{};
};

}  // namespace roofcast
