// What the knobs of --vary do to a scenario: keys are flags of `roofcast simulate` (request_rate,
// tp, gpu) or places in a scenario file (workload.request_rate, cluster.pools.0.replicas).
#pragma once

#include "planner/what_if/vary.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// `scenario` with these settings, one after the other. Values are as after the flag, or as in the
/// file; a relative one goes from the number that `baseline` has or, for a knob of the engine that
/// is not set there, the one that the engine would start with. "*2" scales lengths
/// (planner/capacity/scaled_load.hpp), rates of every pattern, and the rate of a trace. Throws
/// UsageError naming the setting: an unknown key with the nearest known one, a value that the flag
/// refuses, a change of what has no number.
Scenario with_settings(const Scenario& baseline, const Settings& settings);

}  // namespace roofcast
