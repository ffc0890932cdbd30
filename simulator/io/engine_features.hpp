// The keys of a scenario's engine options for what vLLM does besides plain decoding.
#pragma once

#include "model/engines/engine.hpp"
#include "simulator/io/json_object.hpp"

namespace roofcast {

/// Throws Error naming file and key.
void read_engine_features(const JsonObject& object, EngineOverrides& options);

/// The same keys, those unset left out.
void write_engine_features(const EngineOverrides& options, nlohmann::ordered_json& json);

}  // namespace roofcast
