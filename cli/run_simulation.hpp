// From a scenario to its result: load, plan, draw or read the workload, simulate.
#pragma once

#include <functional>

#include "cli/deployment_options.hpp"
#include "cli/simulate_document.hpp"

namespace roofcast {

/// The deployment that a scenario names.
DeploymentOptions deployment_options(const Scenario& scenario);

using ProgressFunction = std::function<bool(std::int64_t, std::int64_t)>;

/// Everything but the simulation itself: model, GPU, memory plan and workload. Throws Error when
/// the model does not fit (with the plan's reason) or the workload cannot be read.
SimulationRun prepare_simulation(const Scenario& scenario);

/// Fills in the result and the notes.
void run_simulation(SimulationRun& run, const ProgressFunction& progress);

}  // namespace roofcast
