// Which part of the load a request belongs to.
#pragma once

#include "simulator/workload/arrivals.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Names the workload's stages, and gives every request the stage in which it arrived, or in which
/// its session did: those of a StagedLoad, after one called "warm-up" with the first num_warmups
/// arrivals. A workload of one stage has none. Precondition: requests that follow no other stand in
/// order of arrival. Throws Error when nothing is left to report.
void add_stages(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals);

}  // namespace roofcast
