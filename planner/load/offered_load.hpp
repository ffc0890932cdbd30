// The load that a workload offers, and the same requests offered faster or slower.
#pragma once

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// The same requests `factor` times as fast: arrival times are divided by it, everything else is
/// equal, so that loads are compared under common random numbers. In sessions only the starts move;
/// pauses belong to the users. Precondition: factor finite and above 0. Throws Error for a load
/// without a rate (all at once), and if the last arrival would exceed simulated time.
Workload at_factor(const Workload& workload, double factor);

/// The same requests, all at time 0: serving them measures the engine's throughput.
Workload all_at_once(const Workload& workload);

/// Requests per second: (arrivals - 1) / time from the first to the last, as
/// LoadResult::offered_rate_per_s; for sessions by their starts, each counted with all its turns. 0
/// when all arrive at once.
double offered_rate_per_s(const Workload& workload);

}  // namespace roofcast
