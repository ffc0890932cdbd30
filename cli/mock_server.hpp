// `roofcast serve --mock`: the simulated engine as an endpoint.
#pragma once

#include <string>

#include "cli/options/arguments.hpp"
#include "planner/flags/workload_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "serve/serve_options.hpp"

namespace roofcast {

struct MockCommandOptions {
  bool on = false;
  DeploymentOptions deployment{};  // without its GPU, which `serve` has a flag of its own for
  WorkloadOptions workload{};
  std::string served_name{};
  double bytes_per_token = 4;
};

/// Flags that fill `target`, which must outlive the parse: model, parallelism, engine and knobs,
/// output-len, seed.
po::options_description mock_options(MockCommandOptions& target);

/// Serves until Ctrl-C or SIGTERM.
int run_mock(CommandContext& context, const ServeOptions& serve, const MockCommandOptions& options,
             const std::string& gpu);

}  // namespace roofcast
