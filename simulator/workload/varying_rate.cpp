#include "simulator/workload/varying_rate.hpp"

#include <algorithm>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>
#include <numbers>

namespace roofcast {
namespace {

/// Requests that a stage holds: rate times duration, rounded down but for what floating point takes
/// away (0.3 /s for 10 s is three).
std::int64_t requests_of(const RateStage& stage) {
  constexpr double kRounding = 1e-9;
  return static_cast<std::int64_t>(std::floor(stage.rate * stage.duration.value + kRounding));
}

/// The stage's arrivals, counted from its start.
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

/// A place in a cycle, moved on by mean gaps.
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
    // Whole cycles at once: a gap may be as long as many of them.
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
  double requests_ = 0;     // of one cycle, on average
  Nanoseconds period_ = 0;  // of one cycle
  std::size_t phase_ = 0;
  Nanoseconds left_ = 0;  // of the phase
  Nanoseconds now_ = 0;
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
                                          std::uint64_t seed) {
  UnitGaps gaps(1.0, seed);
  RandomStream random = random_stream(seed, "thinning");
  boost::random::uniform_real_distribution<double> uniform(0.0, 1.0);
  const double middle = (rate.low + rate.high) / 2;
  const double swing = (rate.high - rate.low) / 2;
  std::vector<Nanoseconds> times;
  times.reserve(static_cast<std::size_t>(count));
  Nanoseconds time = 0;
  while (std::ssize(times) < count) {
    time = later_by(time, gaps.next() / rate.high);
    const double phase = std::fmod(to_seconds(time).value, rate.period.value) / rate.period.value;
    const double now = middle - swing * std::cos(2 * std::numbers::pi * phase);
    if (uniform(random) * rate.high < now) times.push_back(time);
  }
  return times;
}

}  // namespace roofcast
