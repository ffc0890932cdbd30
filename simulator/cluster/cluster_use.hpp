// What the replicas of a run did, together and one by one.
#pragma once

#include <vector>

#include "simulator/cluster/fleet.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// All engines together over `time`, in a run that ended at `end`: counts and levels of requests
/// are sums, peaks of them the largest sum at one time; shares are of all blocks and of all
/// engines' time while their replicas were paid for, the peak of them that of the fullest engine.
EngineUse use_of_all(const Fleet& fleet, Nanoseconds time, Nanoseconds end);

/// Fills in what each of the fleet's replicas is and did, over the part of `time` in which it
/// was paid for.
void describe_replicas(const Fleet& fleet, Nanoseconds time, Nanoseconds end,
                       std::vector<ReplicaResult>& replicas);

}  // namespace roofcast
