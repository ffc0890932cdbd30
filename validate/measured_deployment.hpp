// Whether a scenario is the deployment that a measured run ran on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/measured_run.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws Error for what the run's file says of its deployment and `scenario`, made of it, cannot:
/// pools of their own for prefill and decode, several nodes or replicas, drafts, GPUs that the
/// degrees of parallelism do not add up to. A scenario with pools was written by hand, and is left
/// alone.
void check_deployment(const MeasuredRun& run, const Scenario& scenario);

/// What the file does not say and is taken for granted, a line each: the engine, its version; and
/// which of the server's arguments are not modelled.
std::vector<std::string> taken_for_granted(const MeasuredSetting& setting);

/// Whether check_deployment or scenario_of looks at the key of MeasuredSetting::other.
bool is_deployment_key(std::string_view key);

}  // namespace roofcast
