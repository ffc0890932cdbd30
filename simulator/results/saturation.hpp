// Whether the offered load is sustainable, and whether a high TTFT is queueing.
#pragma once

#include <span>

#include "simulator/results/result.hpp"

namespace roofcast {

/// The growth of the backlog, relative to arrivals, above which a load is not called sustainable:
/// the upper end of its interval must be below.
inline constexpr double kSustainableGrowth = 0.01;

/// The share of the mean TTFT from which on waiting dominates it.
inline constexpr double kQueueingDominates = 0.5;

/// Judges by the growth of the backlog, the requests in the system, while requests arrive, relative
/// to the requests that arrived. Of conversations relative to the sessions that began, as follow-up
/// turns only come after an answer, so that an engine that falls behind is sent fewer: a session
/// that it holds up has one request in the system. The engine may fill first: the window begins
/// after a tenth of the arrivals and twice the median time of service, and must last eight times
/// that (unless requests already wait longer than they are served). `keeps_up` if the backlog grows
/// by less than kSustainableGrowth of the arrivals at the upper end of its 99 % interval
/// (steady_state.hpp), `saturated` if it grows at the lower end, by more than that if it returns to
/// its mean; otherwise undecided. Latencies beyond saturation reflect only how long the run was.
/// Needs the counts, rates and distributions of `result`, and the workload's stages; unreported
/// stages do not count. A stopped run is not judged.
SaturationVerdict judge_saturation(const SimulationResult& result,
                                   std::span<const LoadStage> stages);

/// The verdict on a load that is undecided, or whose backlog grows although its requests hardly
/// wait (as where a trace's rate rises), by the throughput of all its requests at once: a queueing
/// system whose departures are monotone in its arrivals is stable if it serves requests faster than
/// they arrive (the saturation rule: Baccelli and Foss 1995, "On the saturation rule for the
/// stability of queues", J. Applied Probability 32:2). Only ever turns a verdict into "keeps
/// up": the time in which the last ones finish counts, so that the throughput is rather too low.
/// `throughput` and `offered` are in requests per second.
void settle_by_throughput(SaturationVerdict& verdict, double offered, double throughput);

}  // namespace roofcast
