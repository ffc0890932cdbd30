// Checks that a scenario matches the deployment of a measured run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/measured_run.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws Error if the run's file describes a deployment that `scenario`, made from it, cannot
/// express: separate pools for prefill and decode, several nodes or replicas, drafts, or a GPU
/// count that does not match the degrees of parallelism. A scenario with pools was written by hand
/// and is not checked.
void check_deployment(const MeasuredRun& run, const Scenario& scenario);

/// Assumptions for what the file does not state, one per line (engine, version), and the server
/// arguments that are not modelled.
std::vector<std::string> assumptions_of(const MeasuredSetting& setting);

/// The same of the degrees of parallelism: a file that states neither them nor its GPUs is taken
/// for one of a single GPU, unless `scenario` says otherwise.
std::vector<std::string> parallel_assumed(const MeasuredSetting& setting, const Scenario& scenario);

/// Whether check_deployment or scenario_of uses this key of MeasuredSetting::other.
bool is_deployment_key(std::string_view key);

}  // namespace roofcast
