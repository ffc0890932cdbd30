// The engine's options in a scenario file, key by key of the table of knobs (model/engines/knobs).
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/engines/engine.hpp"
#include "simulator/io/json_object.hpp"

namespace roofcast {

/// The keys that the object may have.
std::span<const char* const> engine_option_keys();

/// Throws Error naming file and key when a value is of another kind than its knob's, or out of
/// range.
EngineOverrides read_engine_options(const JsonObject& object);

/// The same keys, those unset left out.
nlohmann::ordered_json engine_options_json(const EngineOverrides& options);

/// What scenario.schema.json says of the object: a JSON Schema.
nlohmann::ordered_json engine_options_schema();

}  // namespace roofcast
