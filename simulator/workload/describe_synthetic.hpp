// One-line description of a synthetic workload.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// "synthetic: 300 requests at 10 requests/s (burstiness 1), input 512, output 128". With sessions,
/// there are more requests than arrivals.
std::string describe(const SyntheticWorkload& spec, std::int64_t arrivals, std::int64_t requests);

}  // namespace roofcast
