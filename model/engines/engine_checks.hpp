// Validates what a user set: values in range, knobs that the engine has. Internal to
// model/engines/engine*.cpp.
#pragma once

#include "model/engines/engine_presets.hpp"

namespace roofcast {

/// Throws UsageError naming the first knob that is out of range, or that this engine does not have.
void check_overrides(const EngineOverrides& overrides, const PresetDefaults& preset);

}  // namespace roofcast
