// EngineUse of a cluster run, in total and per replica.
#pragma once

#include <vector>

#include "simulator/cluster/fleet.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// All engines together over `time`, in a run that ended at `end`. Counts and request levels are
/// sums, and their peaks the largest sum at one time. Shares are of all blocks and of all engines'
/// time while their replicas were paid for; the peak share is that of the fullest engine.
EngineUse use_of_all(const Fleet& fleet, Nanoseconds time, Nanoseconds end);

/// Describes each replica of the fleet and its use over the part of `time` in which it was paid
/// for.
void describe_replicas(const Fleet& fleet, Nanoseconds time, Nanoseconds end,
                       std::vector<ReplicaResult>& replicas);

}  // namespace roofcast
