// Gaps between arrivals, and the schedules they add up to.
#pragma once

#include <boost/random/gamma_distribution.hpp>
#include <cstdint>
#include <vector>

#include "simulator/random.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {

/// Gaps in units of their mean, from stream "arrivals", as `vllm bench serve` draws them: gamma
/// with shape `burstiness` and mean 1; constant when it is infinite.
class UnitGaps {
 public:
  UnitGaps(double burstiness, std::uint64_t seed);
  double next();

 private:
  double burstiness_;
  RandomStream random_;
  boost::random::gamma_distribution<double> gamma_;
};

/// `time` and a gap of so many seconds. The gap is rounded before it is added, so that a maths
/// library that differs in the last bit cannot shift all later arrivals. Throws Error past twice
/// kLongestSpan.
Nanoseconds later_by(Nanoseconds time, double gap_s);

/// Scales a schedule so that its last arrival is at `target`: removes the drawn rate's noise.
void rescale(std::vector<Nanoseconds>& times, Nanoseconds target);

}  // namespace roofcast
