// The flags of planner/flags as options of a command, under the headings that all commands share.
// Targets must outlive the parse.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/options/arguments.hpp"
#include "planner/flags/engine_flags.hpp"
#include "planner/flags/scenario_flags.hpp"

namespace roofcast {

/// --model, --gpu, --quantization, --dtype and parallelism.
po::options_description machine_options(DeploymentOptions& target);

/// Degrees of parallelism that only --help-all lists.
po::options_description more_machine_options(DeploymentOptions& target);

/// --engine and its memory and batch knobs.
po::options_description engine_options(DeploymentOptions& target);

/// Knobs of the engine's scheduler, which affect when work runs but not what fits.
po::options_description scheduler_options(DeploymentOptions& target);

/// Knobs of features beyond plain decoding.
po::options_description feature_options(EngineOverrides& target);

/// Notes on `err` if the engine asked for is a version that its preset was not compared with.
void note_version(const DeploymentOptions& options, std::ostream& err);

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

/// The scenario file as a positional argument. `help` says what it is for.
void add_scenario_file(Usage& usage, std::string& path,
                       const char* help = "scenario file; flags override it");

/// All flags for deployment, cluster, load and SLO: the most common ones, and the rest.
void add_scenario_options(ScenarioOptions& target, std::string& from_command,
                          po::options_description& common, po::options_description& more);

}  // namespace roofcast
