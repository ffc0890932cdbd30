// The command line of `roofcast simulate`.
#pragma once

#include <string>

#include "cli/options/deployment_options.hpp"
#include "cli/options/workload_options.hpp"

namespace roofcast {

struct SimulateOptions {
  std::string scenario_path;  // empty: flags alone
  std::string from_command;   // the line that starts the engine; empty: flags alone
  DeploymentOptions deployment;
  ClusterOptions cluster;
  WorkloadOptions workload;
  bool store = true;
  std::string store_path = "roofcast.db";
  bool keep_requests = false;
  std::string requests_out;
  bool explain = false;
};

/// The flags that say what is simulated (deployment, cluster, load, SLO): those most asked for, and
/// the rest. They fill `target`, which must outlive the parse.
void add_scenario_options(SimulateOptions& target, po::options_description& common,
                          po::options_description& more);

/// Options that fill `target`, which must outlive the parse.
Usage simulate_usage(SimulateOptions& target);

/// The scenario file, if any, with the flags that were given on top.
Scenario simulate_scenario(const SimulateOptions& options);

/// `scenario` with the flags that were given on top.
Scenario with_flags(Scenario scenario, const SimulateOptions& options);

}  // namespace roofcast
