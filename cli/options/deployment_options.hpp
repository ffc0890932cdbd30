// The flags that say what runs where: model, GPU, parallelism, engine. Spelled as vLLM spells them.
#pragma once

#include <string>

#include "cli/options/arguments.hpp"
#include "planner/deploy.hpp"

namespace roofcast {

/// --model, --gpu, --quantization, --dtype and parallelism.
po::options_description machine_options(DeploymentOptions& target);

/// --engine and its knobs of memory and batch.
po::options_description engine_options(DeploymentOptions& target);

/// Knobs of the engine's scheduler, which decide what runs when but not what fits.
po::options_description scheduler_options(DeploymentOptions& target);

/// Takes those of `given` that are set.
void take_overrides(EngineOverrides& knobs, const EngineOverrides& given);

}  // namespace roofcast
