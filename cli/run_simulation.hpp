// From a scenario to its result: load, plan, draw or read the workload, simulate.
#pragma once

#include <functional>

#include "cli/simulate_document.hpp"

namespace roofcast {

using ProgressFunction = std::function<bool(std::int64_t, std::int64_t)>;

/// Everything but the simulation itself: model, GPU, memory plan and workload. Where the model does
/// not fit there is a `refusal` and no workload. Throws Error when the workload cannot be read.
SimulationRun prepare_simulation(const Scenario& scenario);

/// Fills in the result and the notes.
void run_simulation(SimulationRun& run, const ProgressFunction& progress);

}  // namespace roofcast
