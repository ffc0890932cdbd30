// The flags of planner/flags for workload and cluster, as options of a command.
#pragma once

#include "cli/options/arguments.hpp"
#include "planner/flags/cluster_flags.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "planner/flags/workload_flags.hpp"

namespace roofcast {

/// Flags for synthetic workloads only.
po::options_description synthetic_options(WorkloadOptions& target);

/// Ramps, stages, shared prefixes, sessions, adapters.
po::options_description load_shape_options(LoadShapeOptions& target);

/// --trace and its knobs.
po::options_description trace_options(WorkloadOptions& target);

/// The format of the --trace file if it cannot be detected, and further ways to scale its rate.
po::options_description trace_form_options(WorkloadOptions& target);

/// The client's concurrency limit and the SLO.
po::options_description objective_options(WorkloadOptions& target);

/// Replicas and their router.
po::options_description cluster_options(ClusterOptions& target);

/// Which prices count.
po::options_description pricing_options(PricingOptions& target);

}  // namespace roofcast
