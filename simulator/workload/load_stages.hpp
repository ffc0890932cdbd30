// Assigns requests to load stages.
#pragma once

#include "simulator/workload/arrivals.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Names the workload's stages and assigns every request the stage in which it, or its session,
/// arrived. Stages are those of a StagedLoad, after a "warm-up" stage of the first num_warmups
/// arrivals. A workload with a single stage has none. Precondition: requests that follow no other
/// are in order of arrival. Throws Error if no request is left to report.
void add_stages(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals);

}  // namespace roofcast
