// The flags that say what runs where: model, GPU, parallelism, engine, and the engine's knobs,
// spelled as vLLM spells them.
#pragma once

#include <string>

#include "model/engines/knobs.hpp"
#include "planner/deploy.hpp"
#include "planner/flags/flag.hpp"

namespace roofcast {

/// --model, --gpu, --quantization, --dtype and parallelism.
const Flags<DeploymentOptions>& machine_flags();

/// --engine.
const Flags<DeploymentOptions>& engine_choice_flags();

/// The knobs of a group, and what other engines call several of them at once.
const Flags<EngineOverrides>& knob_flags(KnobGroup group);

/// Sets `knob` to what `text` says: counts, sizes, shares and times with their prefixes and units.
/// Throws UsageError naming `flag`. The knob's range is for check_overrides.
void read_knob(EngineOverrides& overrides, const EngineKnob& knob, const std::string& text,
               const std::string& flag);

}  // namespace roofcast
