// Loads the requests of a scenario from any source.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Generates or reads the scenario's workload and assigns every request its SLO class. Throws Error
/// as generate(), read_trace() and assign_slo_classes() do.
Workload load_workload(const Scenario& scenario);

/// Files that the scenario refers to: model, GPUs, trace, observed lengths. Models and GPUs may be
/// catalogue names instead of paths.
std::vector<std::string> input_files(const Scenario& scenario);

}  // namespace roofcast
