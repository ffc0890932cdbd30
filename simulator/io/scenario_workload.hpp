// The requests of a scenario, wherever they come from.
#pragma once

#include <string>
#include <vector>

#include "simulator/scenario.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Generates or reads the scenario's workload and gives every request its SLO class. Throws Error
/// as generate(), read_trace() and assign_slo_classes() do.
Workload load_workload(const Scenario& scenario);

/// Paths of the files that the scenario names, some of which may be names instead: model, GPUs,
/// trace, observed lengths.
std::vector<std::string> input_files(const Scenario& scenario);

}  // namespace roofcast
