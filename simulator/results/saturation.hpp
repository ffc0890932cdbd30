// Whether the offered load is sustainable, and whether a high TTFT is queueing.
#pragma once

#include <span>

#include "simulator/results/result.hpp"

namespace roofcast {

/// Compares arrivals with completions over the second half of the arrivals. An engine that keeps up
/// finishes requests as fast as they arrive once it has filled; one that does not falls behind for
/// as long as the load lasts, and its latencies only reflect how long the run was. Saturated if the
/// backlog grew by more than 5 % of the arrivals and by more than chance explains (twice the square
/// root of the arrivals, Poisson), unless arrivals end before the engine can have filled. Needs the
/// counts, rates and distributions of `result`, the median time that a request spends in the engine
/// after its wait, and the workload's stages; unreported stages do not count. A stopped run is not
/// judged.
SaturationVerdict judge_saturation(const SimulationResult& result, double median_service_s,
                                   std::span<const LoadStage> stages);

}  // namespace roofcast
