// Errors of times to first tokens: late ones are so for the user alone, and delay no other request
// and no client.
#pragma once

#include "planner/scenario/simulation_run.hpp"

namespace roofcast {

/// The largest Engine::first_token_uncertainty of its pools.
double first_token_uncertainty_of(const SimulationRun& run);

/// How many times as long first tokens take if they are off by `deviations` standard deviations.
/// The logarithm is taken as normal.
double first_token_factor(const SimulationRun& run, double deviations);

/// Whether deviating_result() simulates: it does not if of the inputs that are uncertain in this
/// run only first tokens deviate from a complete run.result.
bool is_simulated(const SimulationRun& run, const Deviations& deviations);

/// As simulate_deviating(). If only first tokens deviate nothing is simulated: they are late in
/// run.result, which must be the complete one of the run as it is.
SimulationResult deviating_result(const SimulationRun& run, const PoolStepTimes& step_times,
                                  const Deviations& deviations, const Progress& progress = {});

/// Likewise, with step times of its own, made only if something is simulated.
SimulationResult deviating_result(const SimulationRun& run, const Deviations& deviations);

}  // namespace roofcast
