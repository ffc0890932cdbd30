// How many requests ran and waited and how full the KV cache was, over the time of a run, in so few
// stretches that they can be drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/time.hpp"

namespace roofcast {

/// What there is at one time, of all engines together.
struct Levels {
  std::int64_t running = 0;
  std::int64_t waiting = 0;  // in queues, those at the router included
  double kv_use = 0;         // share of all usable blocks
};

/// Stretches of equal length from time 0 on, each with the most there was in it. Their length
/// doubles as the run goes on. What comes and goes in the same moment does not count.
class LevelTimeline {
 public:
  static constexpr std::size_t kMaxStretches = 400;

  /// From `now`, never before the last change, there is this.
  void record(Nanoseconds now, const Levels& levels);
  /// The run is over.
  void end(Nanoseconds now) { record(now, now_); }

  Nanoseconds stretch() const { return width_; }
  const std::vector<Levels>& max() const { return max_; }  // by stretch

 private:
  void hold(Nanoseconds from, Nanoseconds until);
  void widen();

  // Shorter than any step of an engine.
  Nanoseconds width_ = 1'000'000;
  Nanoseconds since_ = 0;
  Levels now_{};
  std::vector<Levels> max_{};
};

}  // namespace roofcast
