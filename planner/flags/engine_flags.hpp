// The flags for model, GPU, parallelism, engine, and the engine's knobs, spelled as in vLLM.
#pragma once

#include <string>

#include "model/engines/knobs.hpp"
#include "planner/flags/flag.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

/// --model, --gpu, --quantization, --dtype and parallelism.
const Flags<DeploymentOptions>& machine_flags();

/// --engine.
const Flags<DeploymentOptions>& engine_choice_flags();

/// The knobs of a group, and other engines' flags that set several of them.
const Flags<EngineOverrides>& knob_flags(KnobGroup group);

/// Sets `knob` to `text`: counts, sizes, shares and times with their prefixes and units. Throws
/// UsageError naming `flag`. Does not check the knob's range: see check_overrides.
void read_knob(EngineOverrides& overrides, const EngineKnob& knob, const std::string& text,
               const std::string& flag);

}  // namespace roofcast
