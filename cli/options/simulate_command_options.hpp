// The command line of `roofcast simulate`.
#pragma once

#include <string>

#include "cli/default_store.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/workload_options.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {

struct SimulateOptions {
  std::string scenario_path;  // empty: only flags
  std::string from_command;   // command that starts the engine; empty: only flags
  DeploymentOptions deployment;
  ClusterOptions cluster;
  WorkloadOptions workload;
  PricingOptions pricing;
  bool store = true;
  std::string store_path = kDefaultStore;
  bool keep_requests = false;
  bool no_intervals = false;
  std::string requests_out;
  SimulationQuestion question;  // the rest; its scenario stays empty
};

/// The flags for deployment, cluster, load and SLO: the most common ones, and the rest. They fill
/// `target`, which must outlive the parse.
void add_scenario_options(SimulateOptions& target, po::options_description& common,
                          po::options_description& more);

/// Options that fill `target`, which must outlive the parse.
Usage simulate_usage(SimulateOptions& target);

/// The scenario file, if any, overridden by the given flags.
Scenario simulate_scenario(const SimulateOptions& options);

/// The flags that change a scenario.
ScenarioOptions scenario_options(const SimulateOptions& options);

/// Whether nothing says how many requests there are: a scenario file does, even if by default.
bool has_free_length(const SimulateOptions& options);

/// `scenario` overridden by the given flags.
Scenario with_flags(Scenario scenario, const SimulateOptions& options);

}  // namespace roofcast
