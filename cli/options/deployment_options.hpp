// The flags of planner/flags/engine_flags as options of a command.
#pragma once

#include "cli/options/arguments.hpp"
#include "planner/flags/engine_flags.hpp"

namespace roofcast {

/// --model, --gpu, --quantization, --dtype and parallelism.
po::options_description machine_options(DeploymentOptions& target);

/// --engine and its memory and batch knobs.
po::options_description engine_options(DeploymentOptions& target);

/// Knobs of the engine's scheduler, which affect when work runs but not what fits.
po::options_description scheduler_options(DeploymentOptions& target);

/// Knobs of features beyond plain decoding.
po::options_description feature_options(EngineOverrides& target);

}  // namespace roofcast
