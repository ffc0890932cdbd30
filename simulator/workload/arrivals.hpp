// When the requests of a synthetic workload arrive.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/time.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

struct Arrivals {
  std::vector<Nanoseconds> times;       // ascending
  std::vector<std::int64_t> per_stage;  // how many in each stage of a StagedLoad; else empty
};

/// Draws from stream "arrivals". Throws Error naming the knob that is out of range.
Arrivals draw_arrivals(const SyntheticWorkload& spec, std::uint64_t seed);

}  // namespace roofcast
