// A synthetic workload in one line.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// "synthetic: 300 requests at 10 requests/s (burstiness 1), input 512, output 128". Sessions make
/// more requests than arrivals.
std::string describe(const SyntheticWorkload& spec, std::int64_t arrivals, std::int64_t requests);

}  // namespace roofcast
