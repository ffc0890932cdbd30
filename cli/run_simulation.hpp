// From a scenario to its result: load, plan, draw or read the workload, simulate.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "cli/simulate_document.hpp"
#include "model/step_estimate.hpp"

namespace roofcast {

using ProgressFunction = std::function<bool(std::int64_t, std::int64_t)>;

/// One a pool, in their order.
using PoolStepTimes = std::deque<RooflineStepTime>;

/// Everything but the simulation itself: model, GPU, memory plan and workload. Where the model does
/// not fit there is a `refusal` and no workload. `recorded` is the workload where it is at hand.
/// Throws Error when the workload cannot be read.
SimulationRun prepare_simulation(const Scenario& scenario,
                                 const std::optional<Workload>& recorded = {});

PoolStepTimes step_times_of(const SimulationRun& run);

/// Fills in the result, the uncertainty of each pool's steps and the notes.
void run_simulation(SimulationRun& run, const PoolStepTimes& step_times,
                    const ProgressFunction& progress);
void run_simulation(SimulationRun& run, const ProgressFunction& progress);

/// How far terms of a simulation are off, in their own standard deviations; above 0 is more.
struct Deviations {
  double step_time = 0;    // of every step, by PoolRun::step_uncertainty
  double per_request = 0;  // host work on a request outside its steps, by kHostUncertainty
  double kv_capacity = 0;  // blocks, by MemoryPlan::relative_uncertainty
};

/// What a run that run_simulation has filled in would have been with these deviations.
SimulationResult simulate_deviating(const SimulationRun& run, const PoolStepTimes& step_times,
                                    const Deviations& deviations, const ProgressFunction& progress);

}  // namespace roofcast
