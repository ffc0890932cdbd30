#include "simulator/workload/varying_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace roofcast {
namespace {

/// Requests in a stage: rate times duration, rounded down after correcting for floating-point error
/// (0.3 /s for 10 s is three).
std::int64_t requests_of(const RateStage& stage) {
  constexpr double kRounding = 1e-9;
  return static_cast<std::int64_t>(std::floor(stage.rate * stage.duration.value + kRounding));
}

/// The stage's arrivals, relative to its start.
std::vector<Nanoseconds> normalised_stage(const RateStage& stage, UnitGaps& gaps) {
  const std::int64_t count = requests_of(stage);
  std::vector<Nanoseconds> times;
  Nanoseconds time = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    times.push_back(time = later_by(time, gaps.next() / stage.rate));
  }
  const double last = std::min(static_cast<double>(count) / stage.rate, stage.duration.value);
  if (count > 0) rescale(times, to_nanoseconds(Seconds{last}));
  return times;
}

std::vector<Nanoseconds> drawn_stage(const RateStage& stage, UnitGaps& gaps) {
  const Nanoseconds end = to_nanoseconds(stage.duration);
  std::vector<Nanoseconds> times;
  if (stage.rate <= 0) return times;
  Nanoseconds time = later_by(0, gaps.next() / stage.rate);
  while (time < end) {
    times.push_back(time);
    time = later_by(time, gaps.next() / stage.rate);
  }
  return times;
}

/// A position in a cycle, advanced by mean gaps.
class CyclePosition {
 public:
  explicit CyclePosition(const RateCycle& cycle) : cycle_(cycle) {
    for (const RateStage& phase : cycle.phases) {
      requests_ += phase.rate * phase.duration.value;
      period_ += to_nanoseconds(phase.duration);
    }
    left_ = to_nanoseconds(cycle.phases.front().duration);
  }

  /// The time at which the integral of the rate has grown by `unit_gaps`.
  Nanoseconds advance(double unit_gaps) {
    // Skips whole cycles at once: a gap may span many.
    const double cycles = std::floor(unit_gaps / requests_);
    now_ = later_by(now_, cycles * to_seconds(period_).value);
    unit_gaps = std::max(0.0, unit_gaps - cycles * requests_);
    while (true) {
      const double rate = cycle_.phases[phase_].rate;
      const double to_end = rate * to_seconds(left_).value;
      if (rate > 0 && unit_gaps <= to_end) {
        const Nanoseconds step = std::min(left_, to_nanoseconds(Seconds{unit_gaps / rate}));
        left_ -= step;
        return now_ += step;
      }
      unit_gaps = std::max(0.0, unit_gaps - to_end);
      now_ += left_;
      phase_ = (phase_ + 1) % cycle_.phases.size();
      left_ = to_nanoseconds(cycle_.phases[phase_].duration);
    }
  }

 private:
  const RateCycle& cycle_;
  double requests_ = 0;     // per cycle, on average
  Nanoseconds period_ = 0;  // of a cycle
  std::size_t phase_ = 0;
  Nanoseconds left_ = 0;  // of the phase
  Nanoseconds now_ = 0;
};

/// The integral of the rate low + (high - low) / 2 (1 - cos(x)) over a cycle of 2 pi, in units of
/// its mean: x - e sin(x), as in Kepler's equation, with e = (high - low) / (high + low). Computed
/// with sums and products only, so that no math library can make a difference.
class CosineIntegral {
 public:
  explicit CosineIntegral(const DiurnalRate& rate)
      : flat_(2 * rate.low / (rate.high + rate.low)),
        swing_((rate.high - rate.low) / (rate.high + rate.low)) {}

  /// The integral at x, 0 <= x <= 2 pi.
  double at(double x) const { return x <= kPi ? half(x).value : 2 * kPi - half(2 * kPi - x).value; }

  /// The x at which the integral equals `value`, 0 <= value <= 2 pi.
  double where(double value) const {
    return value <= kPi ? where_half(value) : 2 * kPi - where_half(2 * kPi - value);
  }

 private:
  static constexpr double kPi = std::numbers::pi;

  struct Point {
    double value = 0;
    double slope = 0;
  };

  /// For x up to pi: flat x + swing (x - sin(x)), with the Taylor series of x - sin(x) and 1 -
  /// cos(x), truncated below 1e-18.
  Point half(double x) const {
    constexpr int kTerms = 16;
    double even = 1, rise = 0, tilt = 0;
    for (int k = 1; k <= kTerms; ++k) {
      even *= -x * x / ((2 * k - 1) * (2 * k));
      tilt -= even;
      rise -= even * x / (2 * k + 1);
    }
    return {.value = flat_ * x + swing_ * rise, .slope = flat_ + swing_ * tilt};
  }

  /// Newton's method from pi: the function is convex there, so each step approaches from above
  /// until rounding ends it. Near a rate of 0 a step covers a third of the way.
  double where_half(double value) const {
    double x = kPi;
    while (true) {
      const Point point = half(x);
      if (point.slope <= 0) return x;
      const double nearer = std::max(0.0, x - (point.value - value) / point.slope);
      if (!(nearer < x)) return x;
      x = nearer;
    }
  }

  double flat_;   // constant share of the mean rate
  double swing_;  // e
};

/// A position in the course of a day, advanced by mean gaps.
class DiurnalPosition {
 public:
  explicit DiurnalPosition(const DiurnalRate& rate)
      : integral_(rate),
        period_(to_nanoseconds(rate.period)),
        gap_(kTurn / ((rate.low + rate.high) / 2 * rate.period.value)) {}

  /// The time at which the integral of the rate has grown by `unit_gaps`.
  Nanoseconds advance(double unit_gaps) {
    const double period = static_cast<double>(period_);
    const double before = integral_.at(kTurn * (static_cast<double>(time_) / period));
    const double after = before + unit_gaps * gap_;
    const double cycles = std::floor(after / kTurn);
    const double x = integral_.where(std::clamp(after - cycles * kTurn, 0.0, kTurn));
    const Nanoseconds time = std::llround(x / kTurn * period);
    if (cycles > 0) {
      start_ = later_by(start_, cycles * to_seconds(period_).value);
      time_ = time;
    } else {
      time_ = std::max(time_, time);  // rounding must not move time backwards
    }
    return start_ + time_;
  }

 private:
  static constexpr double kTurn = 2 * std::numbers::pi;

  CosineIntegral integral_;
  Nanoseconds period_;
  double gap_;             // the mean gap as a fraction of a turn
  Nanoseconds start_ = 0;  // of the cycle
  Nanoseconds time_ = 0;   // since start_
};

}  // namespace

Arrivals staged_arrivals(const StagedLoad& load, bool normalised, UnitGaps& gaps) {
  Arrivals arrivals;
  Nanoseconds start = 0;
  for (const RateStage& stage : load.stages) {
    const auto times = normalised ? normalised_stage(stage, gaps) : drawn_stage(stage, gaps);
    for (Nanoseconds time : times) arrivals.times.push_back(start + time);
    arrivals.per_stage.push_back(std::ssize(times));
    start += to_nanoseconds(stage.duration);
  }
  return arrivals;
}

std::vector<Nanoseconds> cycle_arrivals(const RateCycle& cycle, std::int64_t count,
                                        UnitGaps& gaps) {
  CyclePosition position(cycle);
  std::vector<Nanoseconds> times;
  times.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) times.push_back(position.advance(gaps.next()));
  return times;
}

std::vector<Nanoseconds> diurnal_arrivals(const DiurnalRate& rate, std::int64_t count,
                                          UnitGaps& gaps) {
  DiurnalPosition position(rate);
  std::vector<Nanoseconds> times;
  times.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) times.push_back(position.advance(gaps.next()));
  return times;
}

}  // namespace roofcast
