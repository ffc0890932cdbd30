// A simulation's answer for machines: the object that `roofcast simulate -o json` prints.
#pragma once

#include "cli/simulate_document.hpp"

namespace roofcast {

/// Of a deployment that does not fit.
Json refusal_json(const SimulationRun& run);

Json simulation_json(const SimulationRun& run);

}  // namespace roofcast
