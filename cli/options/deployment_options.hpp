// The flags of planner/flags/engine_flags as options of a command.
#pragma once

#include <iosfwd>

#include "cli/options/arguments.hpp"
#include "planner/flags/engine_flags.hpp"

namespace roofcast {

/// --model, --gpu, --quantization, --dtype and parallelism.
po::options_description machine_options(DeploymentOptions& target);

/// --engine and its memory and batch knobs.
po::options_description engine_options(DeploymentOptions& target);

/// Knobs of the engine's scheduler, which affect when work runs but not what fits.
po::options_description scheduler_options(DeploymentOptions& target);

/// Notes on `err` if the engine asked for is a version that its preset was not compared with.
void note_version(const DeploymentOptions& options, std::ostream& err);

/// Knobs of features beyond plain decoding.
po::options_description feature_options(EngineOverrides& target);

}  // namespace roofcast
