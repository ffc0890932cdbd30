// Gaps between arrivals, and arrival schedules made from them.
#pragma once

#include <boost/random/gamma_distribution.hpp>
#include <cstdint>
#include <vector>

#include "simulator/random.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {

/// Gaps in units of their mean, from stream "arrivals", drawn as by `vllm bench serve`: gamma with
/// shape `burstiness` and mean 1; constant if `burstiness` is infinite.
class UnitGaps {
 public:
  UnitGaps(double burstiness, std::uint64_t seed);
  double next();

 private:
  double burstiness_;
  RandomStream random_;
  boost::random::gamma_distribution<double> gamma_;
};

/// Returns `time` plus a gap of `gap_s` seconds. The gap is rounded before it is added, so that a
/// math library that differs in the last bit cannot shift all later arrivals. Throws Error if the
/// result exceeds twice kLongestSpan.
Nanoseconds later_by(Nanoseconds time, double gap_s);

/// Scales a schedule so that its last arrival is at `target`, which removes the noise in the rate.
void rescale(std::vector<Nanoseconds>& times, Nanoseconds target);

}  // namespace roofcast
