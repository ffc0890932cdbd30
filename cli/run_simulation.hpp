// From a scenario to its result: load, plan, draw or read the workload, simulate.
#pragma once

#include <functional>

#include "cli/deployment_options.hpp"
#include "cli/simulate_document.hpp"

namespace roofcast {

/// The deployment that a scenario names.
DeploymentOptions deployment_options(const Scenario& scenario);

/// Throws Error when the model does not fit (with the plan's reason) or the workload is empty.
SimulationRun run_simulation(const Scenario& scenario,
                             const std::function<bool(std::int64_t, std::int64_t)>& progress);

}  // namespace roofcast
