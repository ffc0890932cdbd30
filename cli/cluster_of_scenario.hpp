// From a scenario's pools to a cluster that can be simulated.
#pragma once

#include <span>

#include "cli/deployment_options.hpp"
#include "cli/simulate_document.hpp"
#include "model/step_time.hpp"
#include "simulator/cluster/cluster.hpp"

namespace roofcast {

/// The scenario's pools, or the one replica that it has without.
std::vector<PoolScenario> pools_of(const Scenario& scenario);

/// The deployment that a pool names.
DeploymentOptions deployment_options(const Scenario& scenario, const PoolScenario& pool);

/// `step_times`: one a pool; they outlive the cluster.
Cluster cluster_of(const Scenario& scenario, std::span<const PoolRun> pools,
                   std::span<const StepTime* const> step_times);

/// What the numbers of several replicas rest on and leave out, for the user to read.
std::vector<std::string> notes_on_cluster(const Scenario& scenario, std::span<const PoolRun> pools);

}  // namespace roofcast
