// The engine options of a scenario file, one key per entry in the table of knobs
// (model/engines/knobs).
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/engines/engine.hpp"
#include "simulator/io/json_object.hpp"

namespace roofcast {

/// The keys that the object may have.
std::span<const char* const> engine_option_keys();

/// Throws Error naming file and key if a value has another type than its knob, or is out of range.
EngineOverrides read_engine_options(const JsonObject& object);

/// The same keys, without unset ones.
nlohmann::ordered_json engine_options_json(const EngineOverrides& options);

/// JSON Schema of the object, as included in scenario.schema.json.
nlohmann::ordered_json engine_options_schema();

}  // namespace roofcast
