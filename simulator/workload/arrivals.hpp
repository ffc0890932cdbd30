// Arrival times of a synthetic workload.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/time.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

struct Arrivals {
  std::vector<Nanoseconds> times;       // ascending
  std::vector<std::int64_t> per_stage;  // arrivals per stage of a StagedLoad; else empty
};

/// Draws from stream "arrivals". Throws Error naming the parameter that is out of range.
Arrivals draw_arrivals(const SyntheticWorkload& spec, std::uint64_t seed);

}  // namespace roofcast
