// How much load a workload offers, and the same requests offered faster or slower.
#pragma once

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// The same requests `factor` times as fast: arrival times divided by it, everything else equal, so
/// that two loads are compared under common random numbers. Of sessions only the starts move; the
/// pauses within them are their users'. Precondition: factor finite and above 0. Throws Error for a
/// load without a rate (everything comes at once), and when the last arrival would lie beyond
/// simulated time.
Workload at_factor(const Workload& workload, double factor);

/// The same requests, all there at the start: what an engine makes of them is its throughput.
Workload all_at_once(const Workload& workload);

/// Requests per second: (arrivals - 1) / time from the first to the last, as
/// LoadResult::offered_rate_per_s; of sessions their starts, each counted with all its turns. 0
/// when everything comes at once.
double offered_rate_per_s(const Workload& workload);

}  // namespace roofcast
